"""The part of the client library that finds BMCs, and enrolls their machines.

sushy reads BMCs. It is in the extra ``redfish``, so it is imported only where it is used.
"""

import collections
import dataclasses
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ironic_traits.client.requests import Failed, Requests
from ironic_traits.deploy import merged_facts
from ironic_traits.deploy.base import Facts
from ironic_traits.printing import count

if TYPE_CHECKING:
    from ironic_traits.redfish.discovery import Discovered, Limits

#: From this, and a MAC address, follows the uuid of the node of a machine without a UUID of its own.
_NAMESPACE = uuid.UUID('6f1d8f0e-3c0b-4f27-9d2e-5b6f2f6c7a10')


class NotEnrolled(Exception):
    """A machine that gets no node. The text is a sentence."""


@dataclasses.dataclass(frozen=True)
class Enrolled:
    """What was done with a machine.

    :ivar found: the machine, or the BMC that failed.
    :ivar node: uuid of its node; '' if it has none.
    :ivar result: ``created``, ``changed`` or ``unchanged``, and why; a sentence after a failure.
    :ivar is_failed: whether the machine was not enrolled.
    """

    found: 'Discovered'
    node: str
    result: str
    is_failed: bool = False


class Discoveries(Requests):
    """Discovery of BMCs, and nodes for their machines."""

    def discover(
        self,
        ranges: Sequence[str] = (),
        bmcs: Iterable[Mapping[str, Any]] = (),
        login: Mapping[str, Any] | None = None,
        limits: 'Limits | None' = None,
        progress: Callable[[], Any] = lambda: None,
    ) -> Iterator['Discovered']:
        """Generate the machines that BMCs show, as they answer, and the BMCs that failed. Nothing is enrolled.

        ::

            login = {'redfish_username': 'admin', 'redfish_password': password}
            found = list(client.discover(['10.0.0.0/24'], login=login))
            for enrolled in client.enroll(found, resource_class='baremetal'):
                print(enrolled.found.address, enrolled.result)

        The client sends the requests to the BMCs itself. It needs the extra ``redfish`` for this. An address of a range
        gets the password only if it looks like a BMC. To end early, close the generator: this also closes the sessions
        of the BMCs.

        :param ranges: addresses and networks, such as ``10.0.0.0/24``. Those without a BMC are left out.
        :param bmcs: further BMCs: the ``driver_info`` of each, with the names of Ironic (``redfish_address``, …).
        :param login: the ``driver_info`` of all of them, unless ``bmcs`` says otherwise.
        :param limits: an ``ironic_traits.redfish.discovery.Limits``; None for the defaults.
        :param progress: function that is called when an address is done.
        :raises ironic_traits.redfish.discovery.BadRange: a range is invalid, or there are too many addresses.
        """
        from ironic_traits.redfish import discovery

        targets = discovery.targets(ranges, login or {})
        targets += [discovery.Target({**(login or {}), **each}) for each in bmcs]
        return discovery.discover(targets, limits, progress)

    def enroll(
        self, found: Iterable['Discovered'], resource_class: str | None = None, preview: bool = False
    ) -> Iterator[Enrolled]:
        """Create a node with ports and facts for each machine, and generate what was done.

        All machines are read from ``found`` first, because a UUID that two of them have is no UUID. The node of a
        machine has its UUID. If it has none, the node is the one that has a port with one of its MAC addresses. A
        second run changes only what differs: ports that are missing are created, facts that have changed are stored.

        :param found: what ``discover`` generates.
        :param resource_class: of new nodes; None for the default of the service.
        :param preview: whether nothing is written.
        """
        every = sorted(found, key=lambda each: _natural(each.address + each.system))
        uuids = collections.Counter(each.uuid for each in every)
        seen: dict[str, Discovered] = {}
        for each in every:
            enroller = _Enroller(self, each, each.uuid if uuids[each.uuid] == 1 else '', preview)
            try:
                if each.problem:
                    raise NotEnrolled(each.problem)
                for mac in each.macs:
                    if (other := seen.setdefault(mac, each)) is not each:
                        raise NotEnrolled(f'{other.address}{other.system} shows the same MAC address {mac}.')
                result = enroller.enroll(resource_class)
            except (NotEnrolled, Failed) as error:
                yield Enrolled(each, enroller.node, str(error), is_failed=True)
            else:
                yield Enrolled(each, enroller.node, result)


def _natural(text: str) -> list[int | str]:
    """Return a key to sort by, so that 10.0.0.9 comes before 10.0.0.10."""
    return [int(part) if part.isdecimal() else part for part in re.split(r'(\d+)', text)]


class _Enroller:
    """The enrollment of one machine.

    :ivar node: uuid of its node; '' while it is not known.
    """

    def __init__(self, client: Requests, found: 'Discovered', own: str, is_preview: bool) -> None:
        self._client, self._found, self._own, self._is_preview = client, found, own, is_preview
        self._macs = found.macs
        self.node = ''

    def enroll(self, resource_class: str | None) -> str:
        """Create the node, or what it lacks. Return what was done.

        :raises NotEnrolled: the machine cannot be told from others, or another node has a part of it.
        """
        if not self._own and not self._macs:
            raise NotEnrolled('It shows neither a UUID of its own nor a MAC address.')
        ports = self._ports()
        expected = self._own or str(uuid.uuid5(_NAMESPACE, self._macs[0]))
        self.node = self._node(expected, ports)
        node = self._client.find(f'/v1/nodes/{self.node}')
        if node is None:
            self._create(resource_class)
        else:
            self._check_machine(node, ports)
        missing = [mac for mac in self._macs if mac not in ports]
        for mac in missing:
            self._write('POST', '/v1/ports', {'node_uuid': self.node, 'address': mac})
        changes = [count(len(missing), 'new port')] if missing else []
        changes += ['new facts'] if self._store_facts(node is not None) else []
        kind = 'created' if node is None else 'changed' if changes else 'unchanged'
        kind = f'would be {kind}' if self._is_preview and kind != 'unchanged' else kind
        return ': '.join(filter(None, (kind, ', '.join(changes))))

    def _create(self, resource_class: str | None) -> None:
        fields = {'uuid': self.node, 'driver': 'redfish', 'driver_info': dict(self._found.driver_info)}
        self._write('POST', '/v1/nodes', fields | ({'resource_class': resource_class} if resource_class else {}))

    def _ports(self) -> dict[str, str]:
        """Return {MAC address: uuid of the node that has a port with it}."""
        queries = ({'address': mac, 'fields': 'address,node_uuid'} for mac in self._macs)
        ports = [port for query in queries for port in self._client.pages('/v1/ports', 'ports', query)]
        return {port['address']: port['node_uuid'] for port in ports}

    def _node(self, expected: str, ports: Mapping[str, str]) -> str:
        """Return the uuid of the node of the machine, which may not exist yet."""
        owners = sorted(set(ports.values()) - {expected})
        # A machine whose UUID is not its own in this discovery may have been the only one with it in an earlier one.
        derived = [str(uuid.uuid5(_NAMESPACE, mac)) for mac in self._macs]
        if len(set(ports.values())) == 1 and (not self._own or (owners and owners[0] in derived)):
            return next(iter(ports.values()))
        if owners:
            taken = ', '.join(sorted(mac for mac in ports if ports[mac] in owners))
            raise NotEnrolled(f'Node {", ".join(owners)} has ports with its MAC addresses: {taken}.')
        return expected

    def _check_machine(self, node: Mapping[str, Any], ports: Mapping[str, str]) -> None:
        """Raise NotEnrolled if the node with the UUID is of another machine with the same UUID."""
        address = (node.get('driver_info') or {}).get('redfish_address')
        if ports or not self._macs or address == self._found.address:
            return
        if any(self._client.pages('/v1/ports', 'ports', {'node': self.node, 'fields': 'address'})):
            raise NotEnrolled(f'Node {self.node} has its UUID, but no port with one of its MAC addresses.')

    def _store_facts(self, has_node: bool) -> bool:
        """Store the facts, unless the node has them. Return whether they have changed."""
        inspection = self._found.inspection
        assert inspection is not None
        path = f'/v1/nodes/{self.node}/inventory'
        before = (self._client.find(path) if has_node else None) or {}
        document = merged_facts.merge(before, Facts(inspection.document, inspection.unread, inspection.unknown))
        if document == before:
            return False
        self._write('PUT', path, document)
        return has_node

    def _write(self, method: str, path: str, document: Any) -> None:
        if not self._is_preview:
            self._client.ask(method, path, document)
