"""Imports of inventory files into the database, without the API."""
