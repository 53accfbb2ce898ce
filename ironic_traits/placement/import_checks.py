"""Why a provider or a consumer of another Placement cannot be imported. Rules without a database.

The plan of an import applies them to a snapshot, the import itself to locked rows.
"""

from collections.abc import Collection, Mapping

from ironic_traits.placement.node_claims import NeedsClaim, never
from ironic_traits.placement.snapshot_differences import in_order
from ironic_traits.placement.snapshots import Consumer, Provider, Resources, Snapshot


def provider_problems(wanted: Mapping[str, Provider], present: Snapshot) -> dict[str, str]:
    """Return why providers cannot be imported, {uuid: sentence without a subject}, of those that cannot.

    :param wanted: {uuid: Provider}, all of the source.
    """
    names = {provider.name: provider for provider in present.providers.values()}
    problems: dict[str, str] = {}
    for provider in in_order(list(wanted.values())):
        problem = _problem(provider, wanted, names, present)
        if problem is None and provider.parent:
            if provider.parent in problems:
                problem = f'its parent {provider.parent} cannot be imported'
            elif provider.parent not in wanted:
                problem = f'its parent {provider.parent} is not in the source'
        if problem:
            problems[provider.uuid] = problem
    return problems


def _problem(
    provider: Provider, wanted: Mapping[str, Provider], names: Mapping[str, Provider], present: Snapshot
) -> str | None:
    if provider.uuid in present.bare_nodes:
        return 'it is a node without a resource class: set one, then import again'
    here = present.providers.get(provider.uuid)
    if here and here.node:
        # Its name and parent are the node's.
        return None
    holder = names.get(provider.name)
    # Another provider of the source gets another name before that.
    if holder and holder.uuid != provider.uuid and (holder.node or holder.uuid not in wanted):
        return f'provider {holder.uuid} has its name, {provider.name}'
    return None


def consumer_problem(
    consumer: Consumer,
    providers: Mapping[str, Provider],
    gone: Collection[str] = (),
    needs_claim: NeedsClaim = never,
) -> str | None:
    """Return why the allocations of a consumer cannot be imported; None if they can.

    :param providers: {uuid: Provider}: the present ones, and those that the import has created or will create.
    :param gone: uuids of consumers whose present allocations are removed before.
    :param needs_claim: which mirrored nodes must have the consumer as their instance in their cloud.
    """
    for uuid, resources in consumer.resources.items():
        provider = providers.get(uuid)
        if provider is None:
            return f'its provider {uuid} is missing'
        problem = _of_node(consumer.uuid, provider, resources, gone) or _of_cloud(consumer.uuid, provider, needs_claim)
        if problem:
            return problem
    return None


def _of_node(consumer: str, provider: Provider, resources: Resources, gone: Collection[str]) -> str | None:
    """Return why a consumer cannot have a provider of a node (invariant 1).

    The capacity of other providers is not checked: one that is over-allocated in the source
    is over-allocated here, too.
    """
    node = provider.node
    if node is None:
        return None
    (name,) = provider.inventories
    if resources != {name: 1}:
        return f'node {provider.uuid} is 1 {name}'
    others = sorted(node.consumers.difference(gone, [consumer]))
    if others:
        return f'node {provider.uuid} is allocated to {others[0]}'
    if node.reserved_for not in (None, consumer):
        return f'node {provider.uuid} is reserved for {node.reserved_for}'
    if node.instance_uuid not in (None, consumer):
        return f'node {provider.uuid} has the instance {node.instance_uuid}'
    if not (node.instance_uuid or node.is_offered or consumer in node.consumers):
        return f'the state of node {provider.uuid} allows no instance'
    return None


def _of_cloud(consumer: str, provider: Provider, needs_claim: NeedsClaim) -> str | None:
    """Return why a consumer cannot have a mirrored node: its cloud would not know that it is held."""
    node = provider.node
    if node is None or not node.origin or not needs_claim(node.origin):
        return None
    if node.instance_uuid == consumer or consumer in node.consumers:
        return None
    return f'node {provider.uuid} does not have it as its instance in its cloud {node.origin} ([mirror] claims)'
