"""The client library for what this service adds to the Bare Metal API (see ``client.client``)."""

from ironic_traits.client.client import VERSION, Client, Failed

__all__ = ['VERSION', 'Client', 'Failed']
