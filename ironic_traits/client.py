"""A client library for what this service adds to the Bare Metal API: reservations, matches, trait filters, and more.

openstacksdk has everything else.  Arguments and results are the documents of the api-ref, as dicts::

    client = Client(openstack.connect())
    client.reserve(instance_uuid, required=['CUSTOM_FAST'], expires_in=600)
"""

import json
import urllib.parse
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from keystoneauth1 import adapter

SERVICE_TYPE = 'baremetal'
#: The default version, or the latest one of a service that does not have it.  Trait filters need 1.37, the other
#: additions 1.38.
VERSION = '1.115'
#: The minor version that hides the children of nodes in lists.
_CHILDREN_SINCE = 83
_MAXIMUM = 'X-OpenStack-Ironic-API-Maximum-Version'


class Failed(Exception):
    """An error response of the service.

    :param status: the HTTP status.
    :param reason: the HTTP reason phrase, the message if the response has none.
    :param document: the JSON document of the response; {} if another server sent something else.
    :ivar status: the HTTP status.
    :ivar code: the error code, which stays the same when messages change; None if the response has none.
    :ivar reasons: why each listed node cannot be reserved; None for other errors.
    :ivar explanation: why nodes do not match, for a reservation by request; None for other errors.
    :ivar digest: the digest of a new preview, for an edit of traits whose preview is outdated; None for other errors.
    """

    def __init__(self, status, reason, document):
        super().__init__(_message(document) or f'{status} {reason}')
        self.status = status
        self.code = document.get('code')
        self.reasons = document.get('reasons')
        self.explanation = document.get('explanation')
        self.digest = document.get('digest')


class Client:
    """A client of one service.

    :param connection: an openstacksdk Connection, or a keystoneauth Session.
    :param version: version of the API, a string.
    :param options: for a Session, arguments of keystoneauth's Adapter: ``endpoint_override``, ``region_name``, ….
    """

    def __init__(self, connection, version=VERSION, **options):
        if hasattr(connection, SERVICE_TYPE):
            self._adapter = getattr(connection, SERVICE_TYPE)
        else:
            self._adapter = adapter.Adapter(connection, service_type=SERVICE_TYPE, **options)
        self._version = version

    def reserve(self, instance_uuid, nodes=None, **request) -> dict[str, Any]:
        """Hold a node for an instance.

        :param instance_uuid: uuid of the instance.
        :param nodes: uuids or names of nodes to choose from, the preferred first; None for all that match ``request``.
        :param request: requirements (as for ``match``), and ``expires_in`` or ``expires_at``.
        :returns: the reservation.
        :raises Failed: no node can be held (409); it has ``reasons`` or ``explanation``.
        """
        body = {'instance_uuid': instance_uuid, **_without_none(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservation']

    def reserve_all(self, instance_uuids, nodes=None, **request) -> list[dict[str, Any]]:
        """Hold a node for each of several instances.  If one cannot get a node, hold none.

        :param instance_uuids: uuids of the instances; the other arguments are those of ``reserve``.
        :returns: the reservations, in the order of the instances.
        :raises Failed: as ``reserve``.
        """
        body = {'instance_uuids': instance_uuids, **_without_none(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservations']

    def reservations(self, **query) -> Iterator[dict[str, Any]]:
        """Generate the reservations that have not expired.

        :param query: ``node``, ``instance_uuid``, ``fields``, ``sort_key``, ….
        """
        return self.pages('/v1/reservations', 'reservations', query)

    def reservation(self, uuid) -> dict[str, Any]:
        """Return a reservation.

        :raises Failed: it does not exist (404).
        """
        return self.ask('GET', f'/v1/reservations/{uuid}')['reservation']

    def renew(self, uuid, **until) -> dict[str, Any]:
        """Set a new expiry of a reservation.

        :param until: ``expires_in`` or ``expires_at``; the default lifetime without either.
        """
        return self.ask('POST', f'/v1/reservations/{uuid}/renew', until)['reservation']

    def release(self, uuid) -> None:
        """Delete a reservation, which releases its node.

        :raises Failed: it does not exist (404).
        """
        self.ask('DELETE', f'/v1/reservations/{uuid}')

    def match(self, **request) -> dict[str, Any]:
        """Find the nodes that match a request.  With ``instance_uuid``, check the instance's own nodes instead.

        :param request: ``flavor``, ``image``, ``required``, ``required_any``, ``forbidden``, ``preferred``,
            ``resource_class``, filters of nodes, ``limit``, ``explain``; ``instance_uuid``.
        :returns: the response of POST /v1/matches.
        """
        return self.ask('POST', '/v1/matches', request)

    def nodes(
        self, traits=(), traits_any=(), not_traits=(), not_traits_any=(), trait_source='', **query
    ) -> Iterator[dict[str, Any]]:
        """Generate the nodes that pass filters of traits, each a list of names.

        :param traits: nodes with all of these traits.
        :param traits_any: nodes with at least one of these traits.
        :param not_traits: nodes that lack at least one of these traits.
        :param not_traits_any: nodes with none of these traits.
        :param trait_source: nodes on which this source holds a trait, a string.
        :param query: other filters, ``fields``, ``sort_key``, ….
        """
        filters = {
            'traits': traits,
            'traits-any': traits_any,
            'not-traits': not_traits,
            'not-traits-any': not_traits_any,
            'trait-source': trait_source,
        }
        trait_query = {
            name: names if isinstance(names, str) else ','.join(names) for name, names in filters.items() if names
        }
        return self.pages('/v1/nodes', 'nodes', trait_query | query)

    def traits(self, node, at=None) -> list[str]:
        """Return the traits of a node, sorted.

        :param node: its uuid or name.
        :param at: a past time, an ISO 8601 string with an offset; None for now.
        :raises Failed: the node does not exist, or its history does not reach back to that time.
        """
        return self.ask('GET', f'/v1/nodes/{node}/traits', query=_without_none(at=at))['traits']

    def trait_details(self, node) -> dict[str, list[dict[str, Any]]]:
        """Return the traits of a node with the sources that hold them, and the vetoes.

        :param node: its uuid or name.
        :returns: the response of GET /v1/nodes/NODE/traits?detail=true.
        """
        return self.ask('GET', f'/v1/nodes/{node}/traits', query={'detail': 'true'})

    def set_traits(self, node, traits, source=None) -> list[str]:
        """Set the traits of a node, or those that a source holds on it.

        :param node: its uuid or name.
        :param traits: names.
        :param source: the source; None for a plain write, after which the node has exactly these traits.
        :returns: the traits that the source cannot add, because they are vetoed.
        """
        body, query = {'traits': list(traits)}, _without_none(source=source)
        response = self.ask('PUT', f'/v1/nodes/{node}/traits', body, query)
        return (response or {}).get('vetoed', [])

    def add_trait(self, node, trait, source=None) -> None:
        """Add a trait to a node.

        :param source: as for ``set_traits``.
        :raises Failed: the trait is vetoed, and the source is not the operator (409).
        """
        self.ask('PUT', f'/v1/nodes/{node}/traits/{trait}', query=_without_none(source=source))

    def remove_trait(self, node, trait, source=None) -> None:
        """Remove a trait from a node, or a source's hold on it.

        :param source: as for ``set_traits``. The node keeps the trait while another source holds it.
        :raises Failed: the node does not have the trait, or the source does not hold it (404).
        """
        self.ask('DELETE', f'/v1/nodes/{node}/traits/{trait}', query=_without_none(source=source))

    def remove_traits(self, node, source=None) -> None:
        """Remove all traits from a node, or all that a source holds on it.

        :param source: as for ``set_traits``.
        :raises Failed: the source holds none (404).
        """
        self.ask('DELETE', f'/v1/nodes/{node}/traits', query=_without_none(source=source))

    def lift_veto(self, node, trait) -> None:
        """Allow all sources to add a trait to a node again.

        :raises Failed: the trait is not vetoed (404).
        """
        self.ask('DELETE', f'/v1/nodes/{node}/traits/{trait}/veto')

    def edit_traits(self, digest=None, limit=None, marker=None, **edit) -> dict[str, Any]:
        """Preview or execute one edit of the traits of many nodes.

        Without ``digest``, return a preview, and change nothing.  With the ``digest`` of a preview, execute the same
        edit in one transaction::

            edit = {'add': ['CUSTOM_B'], 'where': {'traits': ['CUSTOM_A']}}
            preview = client.edit_traits(**edit)
            client.edit_traits(**edit, digest=preview['digest'])

        :param digest: of a preview; None to get a preview.
        :param limit: most nodes in a preview.
        :param marker: uuid of the last node of the page of nodes before.
        :param edit: ``add``, ``remove``, ``rename``, ``source``; and ``where`` (filters of nodes; {} for all) or
            ``nodes`` (uuids and names).
        :returns: the response of POST /v1/traits/edits.
        :raises Failed: the selected nodes or their traits are not those of the preview (409; it has ``digest``), or the
            service refuses the edit.  Nothing changed.
        """
        body = _without_none(**edit) | ({'preview': True} if digest is None else {'digest': digest})
        return self.ask('POST', '/v1/traits/edits', body, _without_none(limit=limit, marker=marker))

    def mirrors(self) -> list[dict[str, Any]]:
        """Return the mirrors of other clouds."""
        return self.ask('GET', '/v1/mirrors')['mirrors']

    def mirror(self, name) -> dict[str, Any]:
        """Return the mirror of a cloud, with its conflicts.

        :param name: of the cloud.
        :raises Failed: the cloud was never followed (404).
        """
        return self.ask('GET', f'/v1/mirrors/{urllib.parse.quote(name, safe="")}')

    def catalogue(self, **query) -> Iterator[dict[str, Any]]:
        """Generate the traits of the catalogue: what they mean, how many nodes have them, and which are retired.

        :param query: ``name`` ("in:A,B" or "startswith:P"), ``custom``, ``retired``, ``in_use``, ``all``, ``limit``.
        """
        return self.pages('/v1/traits', 'traits', query)

    def trait(self, name) -> dict[str, Any]:
        """Return a trait of the catalogue.

        :raises Failed: it does not exist (404).
        """
        return self.ask('GET', f'/v1/traits/{name}')

    def update_trait(self, name, **changes) -> dict[str, Any]:
        """Describe or retire a trait, and return it.

        :param changes: ``description``, ``retired``, ``replaced_by``; None clears.
        :raises Failed: the changes are invalid (400).
        """
        return self.ask('PUT', f'/v1/traits/{name}', changes)

    def deploy(self, node, reservation_uuid=None, **more) -> None:
        """Start the deployment of a node.

        :param node: its uuid or name.
        :param reservation_uuid: the reservation that holds it; None if it has none, or one for its ``instance_uuid``.
        :param more: ``configdrive``, ``deploy_steps``.
        """
        body = {'target': 'active', **_without_none(reservation_uuid=reservation_uuid), **more}
        self.ask('PUT', f'/v1/nodes/{node}/states/provision', body)

    def import_inventory(self, document, source=None, prune=False) -> Iterator[dict[tuple[str, str], int]]:
        """Import a document (``ironic_traits.transfer``), node by node.

        When a node fails, the nodes imported before it stay.  New nodes begin in their initial state, and are not
        protected.  The import runs while the result is iterated::

            for counts in client.import_inventory(document):
                print(counts)

        :param source: the source that writes the traits, and that keeps no others on these nodes; None for plain
            writes, and for the sources that the document names.
        :param prune: with ``source``: whether nodes that are not in the document, or have no ``traits`` in it, lose the
            traits of the source.
        :returns: generator of the progress after each chassis and each node: {('nodes', 'created'): 3, …}; traits that
            are vetoed count as ('traits', 'vetoed').
        :raises ironic_traits.transfer.documents.Invalid: the document is invalid; no request was made.
        :raises ValueError: clients cannot write as the source, or there is none to prune; no request was made.
        :raises Failed: the service refuses a request.
        """
        from ironic_traits.transfer import documents, imports

        importer = imports.Importer(self, None, source, prune)
        units = documents.units(document)
        for noun, item in units:
            importer.import_unit(noun, item)
            yield importer.counts
        for node in importer.stale(units):
            importer.prune(node)
            yield importer.counts

    def export_inventory(self) -> dict[str, list[dict[str, Any]]]:
        """Return the whole inventory of the service as a document (``ironic_traits.transfer``).

        :raises Failed: the service refuses a request.
        """
        from ironic_traits.transfer import exports

        return exports.export(self)

    def find(self, path) -> dict[str, Any] | None:
        """Return the document at a path; None if there is none (404).

        :param path: path that begins with /v1.
        :raises Failed: any other error response.
        """
        try:
            return self.ask('GET', path)
        except Failed as error:
            if error.status == 404:
                return None
            raise

    def pages(self, path, key, query) -> Iterator[dict[str, Any]]:
        """Generate the items of all pages of a list.

        :param path: path of the list, which begins with /v1.
        :param key: key of the items in a page.
        :param query: query parameters; lists are joined by commas.
        """
        query = {name: ','.join(value) if isinstance(value, list) else value for name, value in query.items()}
        while True:
            page = self.ask('GET', path, query=query)
            yield from page[key]
            if not page.get('next'):
                return
            [marker] = urllib.parse.parse_qs(urllib.parse.urlsplit(page['next']).query)['marker']
            query = query | {'marker': marker}

    def ask(self, method, path, document=None, query=None):
        """Send a request of the Bare Metal API.

        :param method: HTTP method.
        :param path: path that begins with /v1.
        :param document: body, to be encoded as JSON; None for none.
        :param query: query parameters, a dict; None for none.
        :returns: the decoded body of the response; None if it is empty.
        :raises Failed: an error response.
        """
        response = self._send(method, path, document, query)
        if response.status_code == HTTPStatus.NOT_ACCEPTABLE and self._version == VERSION:
            # An earlier release of this service, or of Ironic.
            maximum = response.headers.get(_MAXIMUM, VERSION)
            if _minor(maximum) < _minor(VERSION):
                self._version = maximum
                response = self._send(method, path, document, query)
        if response.status_code >= 400:
            raise Failed(response.status_code, response.reason, _document(response))
        return response.json() if response.content else None

    @property
    def everything(self) -> dict[str, str]:
        """The query parameters with which a list of nodes has the children of nodes, too.

        They depend on the version of the service, which is known after the first request.
        """
        return {'include_children': 'true'} if _minor(self._version) >= _CHILDREN_SINCE else {}

    def _send(self, method, path, document, query):
        # The endpoint in a catalog may end in /v1 or not.
        base = self._adapter.get_endpoint().rstrip('/').removesuffix('/v1')
        return self._adapter.request(
            base + path,
            method,
            json=document,
            params=query,
            microversion=self._version,
            headers={'X-OpenStack-Ironic-API-Version': self._version},
            raise_exc=False,
            # openstacksdk would retry a 409 for 15 seconds, which is useless when a node is reserved.
            status_code_retries=0,
        )


def _minor(version):
    return int(version.partition('.')[2] or 0)


def _without_none(**values):
    return {name: value for name, value in values.items() if value is not None}


def _document(response):
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _message(document):
    """Return the message of an error response; Ironic puts it into a JSON document in a string."""
    message = document.get('error_message')
    try:
        message = json.loads(message)
    except (TypeError, ValueError):
        return message
    return message.get('faultstring') or message.get('description') if isinstance(message, dict) else message
