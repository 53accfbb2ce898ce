"""A real Placement (``tests.support.placement_server``): requests to it, and the content of its database."""

import pathlib
import sqlite3
import urllib.parse

import sqlalchemy as sa
from webob.client import send_request_app

from tests.support.client import Client
from tests.support.placement_server import TOKEN

#: The content of the rows of the database, without ids, times and generations.
_STATEMENTS = {
    'classes': "SELECT name FROM resource_classes WHERE name LIKE 'CUSTOM%'",
    'traits': "SELECT name FROM traits WHERE name LIKE 'CUSTOM%'",
    'providers': """
        SELECT one.uuid, one.name, parent.uuid, root.uuid FROM resource_providers one
        LEFT JOIN resource_providers parent ON parent.id = one.parent_provider_id
        JOIN resource_providers root ON root.id = one.root_provider_id""",
    'inventories': """
        SELECT uuid, resource_classes.name, total, reserved, min_unit, max_unit, step_size, allocation_ratio
        FROM inventories JOIN resource_providers ON resource_providers.id = resource_provider_id
        JOIN resource_classes ON resource_classes.id = resource_class_id""",
    'provider traits': """
        SELECT uuid, traits.name FROM resource_provider_traits
        JOIN resource_providers ON resource_providers.id = resource_provider_id JOIN traits ON traits.id = trait_id""",
    'aggregates': """
        SELECT resource_providers.uuid, placement_aggregates.uuid FROM resource_provider_aggregates
        JOIN resource_providers ON resource_providers.id = resource_provider_id
        JOIN placement_aggregates ON placement_aggregates.id = aggregate_id""",
    'allocations': """
        SELECT consumer_id, uuid, resource_classes.name, used FROM allocations
        JOIN resource_providers ON resource_providers.id = resource_provider_id
        JOIN resource_classes ON resource_classes.id = resource_class_id""",
    'consumers': """
        SELECT consumers.uuid, projects.external_id, users.external_id, consumer_types.name FROM consumers
        JOIN projects ON projects.id = project_id JOIN users ON users.id = user_id
        LEFT JOIN consumer_types ON consumer_types.id = consumer_type_id
        WHERE consumers.uuid IN (SELECT consumer_id FROM allocations)""",
}
_TABLES = (
    *('allocations', 'inventories', 'resource_provider_traits', 'resource_provider_aggregates', 'consumers'),
    *('resource_providers', 'placement_aggregates', 'projects', 'users', 'consumer_types'),
)


class Placement(Client):
    """A client of a real Placement.

    :param directory: of its database.
    :param url: of it.
    """

    def __init__(self, directory, url):
        super().__init__(self._forward)
        self.url = url
        self._address = urllib.parse.urlsplit(url)
        self._directory = pathlib.Path(directory)
        self._engine = sa.create_engine(f'sqlite:///{pathlib.Path(directory, "placement.sqlite")}')

    def _forward(self, environ, start_response):
        """Send a request over HTTP, as a WSGI application."""
        environ |= {'HTTP_HOST': self._address.netloc, 'SERVER_NAME': self._address.hostname}
        return send_request_app(environ | {'SERVER_PORT': str(self._address.port)}, start_response)

    def send(self, method, path, document=None, version='1.39'):
        """Send a request, which must succeed, and return the document of the response; None for an empty one."""
        headers = {'OpenStack-API-Version': f'placement {version}', 'X-Auth-Token': TOKEN}
        response = self.ask(method, path, document, version=None, headers=headers)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

    def rows(self):
        """Return the content of the database, {table: [row, …]}, sorted."""
        with self._engine.connect() as connection:
            return {
                name: sorted((tuple(row) for row in connection.exec_driver_sql(statement)), key=str)
                for name, statement in _STATEMENTS.items()
            }

    def clear(self):
        """Delete everything but the standard names."""
        with self._engine.begin() as connection:
            for table in _TABLES:
                connection.exec_driver_sql(f'DELETE FROM {table}')
            for table in ('resource_classes', 'traits'):
                connection.exec_driver_sql(f"DELETE FROM {table} WHERE name LIKE 'CUSTOM%'")

    def rename_all(self):
        """Rename all providers, so that the next fixture can use their names."""
        with self._engine.begin() as connection:
            connection.exec_driver_sql(
                "UPDATE resource_providers SET name = name || '-' || id WHERE name NOT LIKE '%-' || id"
            )

    def save(self, name):
        """Save the content of the database."""
        self._copy('placement', name)

    def load(self, name):
        """Restore the saved content. Return whether there was any."""
        is_saved = self._path(name).exists()
        if is_saved:
            self._copy(name, 'placement')
        return is_saved

    def _path(self, name):
        return self._directory / f'{name}.sqlite'

    def _copy(self, one, other):
        with sqlite3.connect(self._path(one)) as reader, sqlite3.connect(self._path(other)) as writer:
            reader.backup(writer)
        reader.close()
        writer.close()
