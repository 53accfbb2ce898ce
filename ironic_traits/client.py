"""The part of the Bare Metal API that only this service has, for programs: reservations, matches, trait filters.

Everything else of it is openstacksdk's.  What goes in and comes out are the documents of the api-ref, as dicts::

    client = Client(openstack.connect())
    client.reserve(instance_uuid, required=['CUSTOM_FAST'], expires_in=600)
"""

import json
from collections.abc import Iterator
from typing import Any

from keystoneauth1 import adapter

SERVICE_TYPE = 'baremetal'
#: What is asked for, unless somebody says otherwise: trait filters came with 1.37, reservations and matches with 1.38.
VERSION = '1.82'


class Failed(Exception):
    """The service says no.

    :param status: the HTTP status.
    :param otherwise: what to say when the answer does not say it.
    :param document: the answer; {} of one that is not the service's.
    :ivar status: the HTTP status.
    :ivar code: what stays the same when the sentence changes; None of an answer that is not the service's.
    :ivar reasons: of a reservation, why each node of the list cannot be held; None where there are none.
    :ivar explanation: of a reservation by request, why nodes do not match; None where there is none.
    """

    def __init__(self, status, otherwise, document):
        super().__init__(_sentence(document) or f'{status} {otherwise}')
        self.status = status
        self.code = document.get('code')
        self.reasons = document.get('reasons')
        self.explanation = document.get('explanation')


class Client:
    """Asks one service.

    :param connection: an openstacksdk Connection, or a keystoneauth Session.
    :param version: of the API, as text.
    :param options: what keystoneauth's Adapter takes, for a Session: ``endpoint_override``, ``region_name``, ….
    """

    def __init__(self, connection, version=VERSION, **options):
        if hasattr(connection, SERVICE_TYPE):
            self._adapter = getattr(connection, SERVICE_TYPE)
        else:
            self._adapter = adapter.Adapter(connection, service_type=SERVICE_TYPE, **options)
        self._version = version

    def reserve(self, instance_uuid, nodes=None, **request) -> dict[str, Any]:
        """Hold a node for an instance.

        :param nodes: uuids or names, the best first; None for any that is such as is asked for.
        :param request: what it must be (as for ``match``), and ``expires_in`` or ``expires_at``.
        :returns: the reservation.
        :raises Failed: none can be held (409): ``reasons``, ``explanation``.
        """
        body = {'instance_uuid': instance_uuid, **_said(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservation']

    def reserve_all(self, instance_uuids, nodes=None, **request) -> list[dict[str, Any]]:
        """Hold a node for each of several instances: all or none; as ``reserve``.

        :returns: the reservations, in the order of the instances.
        """
        body = {'instance_uuids': instance_uuids, **_said(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservations']

    def reservations(self, **query) -> Iterator[dict[str, Any]]:
        """Give the live reservations.

        :param query: ``node``, ``instance_uuid``, ``fields``, ``sort_key``, ….
        """
        return self.pages('/v1/reservations', 'reservations', query)

    def reservation(self, uuid) -> dict[str, Any]:
        """Give a reservation.

        :raises Failed: there is none (404).
        """
        return self.ask('GET', f'/v1/reservations/{uuid}')['reservation']

    def renew(self, uuid, **until) -> dict[str, Any]:
        """Say anew how long a reservation lasts.

        :param until: ``expires_in`` or ``expires_at``; nothing for the default.
        """
        return self.ask('POST', f'/v1/reservations/{uuid}/renew', until)['reservation']

    def release(self, uuid) -> None:
        """Let a reserved node go.

        :raises Failed: there is no such reservation (404).
        """
        self.ask('DELETE', f'/v1/reservations/{uuid}')

    def match(self, **request) -> dict[str, Any]:
        """Find the nodes that match, or tell whether what an instance holds does.

        :param request: ``flavor``, ``image``, ``required``, ``required_any``, ``forbidden``, ``preferred``,
            ``resource_class``, filters of nodes, ``limit``, ``explain``; ``instance_uuid``.
        :returns: the answer of POST /v1/matches.
        """
        return self.ask('POST', '/v1/matches', request)

    def nodes(self, traits=(), traits_any=(), not_traits=(), not_traits_any=(), **query) -> Iterator[dict[str, Any]]:
        """Give the nodes with certain traits.

        :param traits: all of these, a list of names.
        :param traits_any: one of these.
        :param not_traits: not all of these.
        :param not_traits_any: none of these.
        :param query: other filters, ``fields``, ``sort_key``, ….
        """
        filters = {
            'traits': traits,
            'traits-any': traits_any,
            'not-traits': not_traits,
            'not-traits-any': not_traits_any,
        }
        wanted = {
            name: names if isinstance(names, str) else ','.join(names) for name, names in filters.items() if names
        }
        return self.pages('/v1/nodes', 'nodes', wanted | query)

    def deploy(self, node, reservation_uuid=None, **more) -> None:
        """Begin to deploy a node.

        :param reservation_uuid: the reservation that holds it; None for none, or for that of its ``instance_uuid``.
        :param more: ``configdrive``, ``deploy_steps``.
        """
        body = {'target': 'active', **_said(reservation_uuid=reservation_uuid), **more}
        self.ask('PUT', f'/v1/nodes/{node}/states/provision', body)

    def import_inventory(self, document) -> Iterator[dict[tuple[str, str], int]]:
        """Make the service have what a document says (``ironic_traits.transfer``).

        Each node by itself: what came before one that fails stays.  Nodes that are new begin where nodes begin, and are
        not protected.  It works while it is iterated::

            for counts in client.import_inventory(document):
                print(counts)

        :returns: after each chassis and each node, how far it is: {('nodes', 'created'): 3, …}.
        :raises ironic_traits.transfer.documents.Invalid: the document is not what it must be; nothing was asked for.
        :raises Failed: the service says no.
        """
        from ironic_traits.transfer import documents, imports

        importer = imports.Importer(self)
        for noun, item in documents.units(document):
            importer.bring(noun, item)
            yield importer.counts

    def export_inventory(self) -> dict[str, list[dict[str, Any]]]:
        """Give all that the service has, as a document (``ironic_traits.transfer``).

        :raises Failed: the service says no.
        """
        from ironic_traits.transfer import exports

        return exports.export(self)

    def find(self, path) -> dict[str, Any] | None:
        """Give what stands at a path; None for nothing.

        :raises Failed: the service says no for another reason than that there is nothing.
        """
        try:
            return self.ask('GET', path)
        except Failed as error:
            if error.status == 404:
                return None
            raise

    def pages(self, path, key, query) -> Iterator[dict[str, Any]]:
        """Give the items of all pages of a list.

        :param path: of the list.
        :param key: under which a page has them.
        :param query: the arguments; lists are joined by commas.
        """
        query = {name: ','.join(value) if isinstance(value, list) else value for name, value in query.items()}
        while True:
            page = self.ask('GET', path, query=query)
            yield from page[key]
            if not page.get('next'):
                return
            query = query | {'marker': page[key][-1]['uuid']}

    def ask(self, method, path, document=None, query=None):
        """Ask for anything of the Bare Metal API.

        :param path: with its /v1.
        :param document: the body, as a JSON document.
        :returns: the body of the answer; None for none.
        :raises Failed: the service says no.
        """
        # A catalog names the service with the version of its API or without; the paths here have it.
        base = self._adapter.get_endpoint().rstrip('/').removesuffix('/v1')
        response = self._adapter.request(
            base + path,
            method,
            json=document,
            params=query,
            microversion=self._version,
            headers={'X-OpenStack-Ironic-API-Version': self._version},
            raise_exc=False,
            # openstacksdk would ask for 15 seconds again and again, where a node is reserved.
            status_code_retries=0,
        )
        if response.status_code >= 400:
            raise Failed(response.status_code, response.reason, _document(response))
        return response.json() if response.content else None


def _said(**given):
    return {name: value for name, value in given.items() if value is not None}


def _document(response):
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _sentence(document):
    """Give the sentence of a failure: a string in a document in a string, as Ironic's clients read it."""
    told = document.get('error_message')
    try:
        told = json.loads(told)
    except (TypeError, ValueError):
        return told
    return told.get('faultstring') or told.get('description') if isinstance(told, dict) else told
