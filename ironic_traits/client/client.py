"""A client library for what this service adds to the Bare Metal API: reservations, matches, trait filters, and more.

openstacksdk has everything else. Arguments and results are the documents of the api-ref, as dicts::

    client = Client(openstack.connect())
    client.reserve(instance_uuid, required=['CUSTOM_FAST'], expires_in=600)

If a name or uuid in a path is empty, ``.`` or ``..``, or has a slash, a method raises ValueError and sends no request.
"""

import urllib.parse
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ironic_traits.client.bulk_edits import BulkEdits
from ironic_traits.client.changes import Changes
from ironic_traits.client.discoveries import Discoveries
from ironic_traits.client.requests import VERSION, Failed, without_none
from ironic_traits.client.rules import RuleRuns

__all__ = ['VERSION', 'Client', 'Failed']


class Client(BulkEdits, RuleRuns, Discoveries, Changes):
    """A client of one service.

    :param connection: an openstacksdk Connection, or a keystoneauth Session.
    :param version: version of the API.
    :param options: for a Session, arguments of keystoneauth's Adapter: ``endpoint_override``, ``region_name``, ….
    """

    def reserve(self, instance_uuid: str, nodes: Sequence[str] | None = None, **request: Any) -> dict[str, Any]:
        """Hold a node for an instance.

        :param nodes: uuids or names of nodes to choose from, the preferred first; None for all that match ``request``.
        :param request: requirements, ``topology`` and ``relative_to`` (as for ``match``), ``expires_in`` or
            ``expires_at``, and ``capacity_reservation``, the name or uuid of one to use.
        :returns: the reservation. With ``topology``, it has ``groups``, the groups of the node: {key: value}.
        :raises Failed: no node can be held (409); it has ``reasons`` or ``explanation``.
        """
        body = {'instance_uuid': instance_uuid, **without_none(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservation']

    def reserve_all(
        self, instance_uuids: Sequence[str], nodes: Sequence[str] | None = None, **request: Any
    ) -> list[dict[str, Any]]:
        """Hold a node for each of several instances. If one cannot get a node, hold no nodes.

        With ``topology``, the nodes are in one group, or in different groups::

            client.reserve_all(instances, topology=[{'key': 'trait:CUSTOM_RACK_', 'policy': 'affinity'}])

        :param instance_uuids: uuids of the instances. The other arguments are those of ``reserve``.
        :returns: the reservations, in the order of the instances.
        :raises Failed: as ``reserve``.
        """
        body = {'instance_uuids': instance_uuids, **without_none(node_uuid=nodes), **request}
        return self.ask('POST', '/v1/reservations', body)['reservations']

    def reservations(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Generate the reservations that have not expired.

        :param query: ``node``, ``instance_uuid``, ``fields``, ``sort_key``, ….
        """
        return self.pages('/v1/reservations', 'reservations', query)

    def reservation(self, uuid: str) -> dict[str, Any]:
        """Return a reservation.

        :raises Failed: it does not exist (404).
        """
        return self.ask('GET', f'/v1/reservations/{segment(uuid)}')['reservation']

    def renew(self, uuid: str, **until: Any) -> dict[str, Any]:
        """Set a new expiry of a reservation.

        :param until: ``expires_in`` or ``expires_at``. Without either, the reservation gets the default lifetime.
        """
        return self.ask('POST', f'/v1/reservations/{segment(uuid)}/renew', until)['reservation']

    def release(self, uuid: str) -> None:
        """Delete a reservation, which releases its node.

        :raises Failed: it does not exist (404).
        """
        self.ask('DELETE', f'/v1/reservations/{segment(uuid)}')

    def reserve_capacity(self, name: str, project: str, count: int, **request: Any) -> dict[str, Any]:
        """Create a capacity reservation: promise a number of nodes that match a request to a project.

        ::

            client.reserve_capacity('spring', project, 4, flavor={'extra_specs': {'trait:CUSTOM_GPU': 'required'}})

        :param project: ID of the project.
        :param request: requirements and filters of nodes (as for ``match``), and ``expires_at``.
        :returns: the capacity reservation.
        :raises Failed: not so many nodes are free beside those that others have a right to (409).
        """
        body = {'name': name, 'project': project, 'count': count, **request}
        return self.ask('POST', '/v1/capacity_reservations', body)

    def capacity_reservations(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Generate the capacity reservations that have not expired.

        :param query: ``limit``, ``sort_key``, ….
        """
        return self.pages('/v1/capacity_reservations', 'capacity_reservations', query)

    def capacity_reservation(self, ident: str) -> dict[str, Any]:
        """Return a capacity reservation.

        :param ident: name or uuid.
        :raises Failed: it does not exist (404).
        """
        return self.ask('GET', f'/v1/capacity_reservations/{segment(ident)}')

    def release_capacity(self, ident: str) -> None:
        """Delete a capacity reservation. The nodes that are held for it stay held.

        :raises Failed: it does not exist (404).
        """
        self.ask('DELETE', f'/v1/capacity_reservations/{segment(ident)}')

    def match(self, **request: Any) -> dict[str, Any]:
        """Find the nodes that match a request. With ``instance_uuid``, check the instance's own nodes instead.

        :param request: ``flavor``, ``image``, ``required``, ``required_any``, ``forbidden``, ``preferred``,
            ``resource_class``, filters of nodes, ``limit``, ``explain``; ``instance_uuid``. For nodes relative to each
            other: ``topology`` ([{'key': …, 'policy': …}, …]), ``relative_to`` (uuids of instances), and ``count``, the
            number of nodes to choose.
        :returns: the response of POST /v1/matches.
        """
        return self.ask('POST', '/v1/matches', request)

    def capacity(self, **request: Any) -> dict[str, Any]:
        """Count the nodes that match flavors: how many are free, held, or not available.

        :param request: ``flavors`` ([{'name': …, 'extra_specs': {…}}, …]) or ``nova_flavors`` (names, or True for all);
            ``without``, ``with`` and ``by``. A flavor may have ``topology``, ``relative_to`` and ``count``, as for
            ``match``.
        :returns: the response of POST /v1/capacity. A flavor with ``topology`` has ``blocks``, how many groups of
            ``count`` free nodes can be chosen at once, and ``largest_block``, the size of the largest one.
        """
        return self.ask('POST', '/v1/capacity', request)

    def drift(self, **request: Any) -> dict[str, Any]:
        """Find where flavors, images and nodes no longer fit together.

        :param request: ``flavors`` or ``nova_flavors``, as for ``capacity``; ``images`` ([{'name', 'properties'}, …]),
            ``exclusive`` ([trait, …]).
        :returns: the response of POST /v1/drift.
        """
        return self.ask('POST', '/v1/drift', request)

    def firmware(self) -> list[dict[str, Any]]:
        """Return how many nodes of each model have each version of firmware: the list of GET /v1/drift."""
        return self.ask('GET', '/v1/drift')['firmware']

    def nodes(
        self,
        traits: Iterable[str] = (),
        traits_any: Iterable[str] = (),
        not_traits: Iterable[str] = (),
        not_traits_any: Iterable[str] = (),
        trait_source: str = '',
        **query: Any,
    ) -> Iterator[dict[str, Any]]:
        """Generate the nodes that pass filters of traits, each a list of names.

        :param traits: nodes with all of these traits.
        :param traits_any: nodes with at least one of these traits.
        :param not_traits: nodes that lack at least one of these traits.
        :param not_traits_any: nodes with none of these traits.
        :param trait_source: nodes on which this source holds a trait.
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

    def traits(self, node: str, at: str | None = None) -> list[str]:
        """Return the traits of a node, sorted.

        :param at: a past time, an ISO 8601 string with an offset; None for now.
        :raises Failed: the node does not exist, or its history does not reach back to that time.
        """
        return self.ask('GET', f'/v1/nodes/{segment(node)}/traits', query=without_none(at=at))['traits']

    def trait_details(self, node: str) -> dict[str, list[dict[str, Any]]]:
        """Return the traits of a node with the sources that hold them, and the vetoes.

        :returns: the response of GET /v1/nodes/NODE/traits?detail=true.
        """
        return self.ask('GET', f'/v1/nodes/{segment(node)}/traits', query={'detail': 'true'})

    def set_traits(self, node: str, traits: Iterable[str], source: str | None = None) -> list[str]:
        """Set the traits of a node, or those that a source holds on it.

        :param source: the source; None for a plain write, after which the node has exactly these traits.
        :returns: the traits that the source cannot add, because they are vetoed.
        """
        body, query = {'traits': list(traits)}, without_none(source=source)
        response = self.ask('PUT', f'/v1/nodes/{segment(node)}/traits', body, query)
        return (response or {}).get('vetoed', [])

    def add_trait(self, node: str, trait: str, source: str | None = None) -> None:
        """Add a trait to a node.

        :param source: as for ``set_traits``.
        :raises Failed: the trait is vetoed, and the source is not the operator (409).
        """
        self.ask('PUT', f'/v1/nodes/{segment(node)}/traits/{segment(trait)}', query=without_none(source=source))

    def remove_trait(self, node: str, trait: str, source: str | None = None) -> None:
        """Remove a trait from a node, or a source's hold on it.

        :param source: as for ``set_traits``. The node keeps the trait while another source holds it.
        :raises Failed: the node does not have the trait, or the source does not hold it (404).
        """
        self.ask('DELETE', f'/v1/nodes/{segment(node)}/traits/{segment(trait)}', query=without_none(source=source))

    def remove_traits(self, node: str, source: str | None = None) -> None:
        """Remove all traits from a node, or all that a source holds on it.

        :param source: as for ``set_traits``.
        :raises Failed: the source holds no trait of the node (404).
        """
        self.ask('DELETE', f'/v1/nodes/{segment(node)}/traits', query=without_none(source=source))

    def lift_veto(self, node: str, trait: str) -> None:
        """Allow all sources to add a trait to a node again.

        :raises Failed: the trait is not vetoed (404).
        """
        self.ask('DELETE', f'/v1/nodes/{segment(node)}/traits/{segment(trait)}/veto')

    def mirrors(self) -> list[dict[str, Any]]:
        """Return the mirrors of other clouds."""
        return self.ask('GET', '/v1/mirrors')['mirrors']

    def mirror(self, name: str) -> dict[str, Any]:
        """Return the mirror of a cloud, with its conflicts.

        :param name: name of the cloud.
        :raises Failed: the cloud was never followed (404).
        """
        return self.ask('GET', f'/v1/mirrors/{segment(name)}')

    def inventory(self, node: str, previous: bool = False) -> dict[str, Any]:
        """Return the data of the last inspection of a node: {'inventory': {…}, 'plugin_data': {…}}.

        :param node: uuid or name.
        :param previous: whether to return the data before the last instead.
        :raises Failed: the node has no such data (404).
        """
        query = {'previous': 'true'} if previous else None
        return self.ask('GET', f'/v1/nodes/{segment(node)}/inventory', query=query)

    def set_inventory(self, node: str, document: Any) -> dict[str, Any]:
        """Store data of an inspection of a node. The inspection rules change the traits of the node accordingly.

        :param node: uuid or name.
        :param document: as ``inventory`` returns it, as ``baremetal node inventory save`` writes it, or as a ramdisk
            sends it.
        :returns: the stored data, as ``inventory`` returns it.
        """
        return self.ask('PUT', f'/v1/nodes/{segment(node)}/inventory', document)

    def catalogue(self, **query: Any) -> Iterator[dict[str, Any]]:
        """Generate the traits of the catalogue: what they mean, how many nodes have them, and which are retired.

        :param query: ``name`` ("in:A,B" or "startswith:P"), ``custom``, ``retired``, ``exclusive``, ``in_use``,
            ``all``, ``limit``.
        """
        return self.pages('/v1/traits', 'traits', query)

    def trait(self, name: str) -> dict[str, Any]:
        """Return a trait of the catalogue.

        :raises Failed: it does not exist (404).
        """
        return self.ask('GET', f'/v1/traits/{segment(name)}')

    def update_trait(self, name: str, **changes: Any) -> dict[str, Any]:
        """Describe or retire a trait, or make it exclusive, and return it.

        :param changes: ``description``, ``retired``, ``replaced_by``, ``exclusive``; None removes the value.
        :raises Failed: the changes are invalid (400).
        """
        return self.ask('PATCH', f'/v1/traits/{segment(name)}', changes)

    def deploy(self, node: str, reservation_uuid: str | None = None, **more: Any) -> None:
        """Start the deployment of a node.

        :param reservation_uuid: the reservation that holds the node. It may be None if the node is not reserved, or is
            reserved for its ``instance_uuid``.
        :param more: ``configdrive``, ``deploy_steps``.
        """
        body = {'target': 'active', **without_none(reservation_uuid=reservation_uuid), **more}
        self.ask('PUT', f'/v1/nodes/{segment(node)}/states/provision', body)

    def import_inventory(
        self, document: Any, source: str | None = None, prune: bool = False
    ) -> Iterator[dict[tuple[str, str], int]]:
        """Import a document (``ironic_traits.transfer``), node by node.

        When a node fails, the nodes imported before it stay. New nodes begin in their initial state, and are not
        protected. The import runs while the result is iterated::

            for counts in client.import_inventory(document):
                print(counts)

        :param source: the source as which traits are written. It loses its other traits on these nodes. None for plain
            writes, and for the sources that the document names.
        :param prune: with ``source``: whether nodes that are not in the document, or have no ``traits`` in it, lose the
            traits of the source.
        :returns: generator of the progress after each chassis and each node: {('nodes', 'created'): 3, …}; traits that
            are vetoed count as ('traits', 'vetoed').
        :raises ironic_traits.transfer.documents.Invalid: the document is invalid; no request was sent.
        :raises ValueError: clients cannot write as the source, or ``prune`` has no source; no request was sent.
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

    def export_inventory(self, mirrored: bool = False) -> dict[str, list[dict[str, Any]]]:
        """Return the inventory of the service as a document (``ironic_traits.transfer``).

        :param mirrored: whether to include the nodes of mirrored clouds.
        :raises Failed: the service refuses a request.
        """
        from ironic_traits.transfer import exports

        return exports.export(self, mirrored).document


def segment(name: object) -> str:
    """Return a name or a uuid, encoded as one segment of a path of the API.

    :raises ValueError: it is empty, ``.`` or ``..``, or has a slash. The request would be for another path: servers
        decode a slash before they split the path.
    """
    text = str(name)
    if not text:
        raise ValueError('A name or UUID is empty.')
    if text in ('.', '..') or '/' in text:
        raise ValueError(f'{text!r} cannot be a name or UUID in a path.')
    return urllib.parse.quote(text, safe='')
