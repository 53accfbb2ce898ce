"""What this service has written to a cloud, and is still on its nodes. Nothing is changed."""

from collections.abc import Mapping
from typing import NamedTuple

from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_leftovers
from ironic_traits.inventory.mirrored.mirror_leftovers import INSTANCE, TRAIT
from ironic_traits.mirror.cloud import Cloud
from ironic_traits.mirror.documents import CloudItem
from ironic_traits.mirror.feed import Feed


class Leftover(NamedTuple):
    """What is left on a node of a cloud.

    :ivar traits: traits that this service has written, sorted.
    :ivar instance: the ``instance_uuid`` that this service has set; None if it is not in the cloud.
    """

    uuid: str
    name: str | None
    traits: list[str]
    instance: str | None


class Leftovers(NamedTuple):
    """What is left in a cloud.

    :ivar nodes: number of nodes that the cloud shows.
    :ivar found: [Leftover, …], in the order of the cloud.
    :ivar hidden: uuids of nodes to which this service has written, and which the cloud does not show, sorted.
    """

    nodes: int
    found: list[Leftover]
    hidden: list[str]


def find(context: Context, name: str) -> Leftovers:
    """Return what is left in a cloud.

    :raises Unreadable: the cloud cannot be read.
    """
    written = mirror_leftovers.find(context, name)
    number, found = 0, []
    cloud = Cloud(name, context.conf.mirror.timeout)
    cloud.connect()
    try:
        for node in Feed(cloud, 'nodes', 0, 0, {}).items('uuid,name,instance_uuid,traits'):
            number += 1
            if node.uuid in written:
                found.append(_left(node, written.pop(node.uuid)))
    finally:
        cloud.close()
    return Leftovers(number, [each for each in found if each.traits or each.instance], sorted(written))


def _left(node: CloudItem, written: Mapping[str, set[str]]) -> Leftover:
    name, traits, instance = (node.document.get(field) for field in ('name', 'traits', 'instance_uuid'))
    present = [each for each in traits if each in written[TRAIT]] if isinstance(traits, list) else []
    return Leftover(
        node.uuid,
        name if isinstance(name, str) else None,
        sorted(present),
        instance if isinstance(instance, str) and instance in written[INSTANCE] else None,
    )
