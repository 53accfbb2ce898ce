"""Discovery: which BMCs answer at the addresses that a user names, and which machines they show.

It needs no service. An address of a range gets a request without a password first. Only what looks like a BMC gets the
password.
"""

import contextlib
import dataclasses
import functools
import ipaddress
import itertools
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from ironic_traits.matching.rules import inspection_rules, rule_evaluation
from ironic_traits.redfish import addresses, bmcs, inspections
from ironic_traits.redfish.addresses import BadAddress
from ironic_traits.redfish.bmcs import Access, Bmc, Failure
from ironic_traits.redfish.inspections import Inspection
from ironic_traits.redfish.trees import ROOT, Tree, Unreadable, text
from ironic_traits.uuids import canonical, is_canonical

#: Maximum number of addresses of one discovery.
MAX_ADDRESSES = 65536
#: UUIDs that vendors leave in many machines.
_DEFAULTS = (
    '03000200-0400-0500-0006-000700080009',
    '00020003-0004-0005-0006-000700080009',
    '12345678-1234-5678-90ab-cddeefaabbcc',
    '01234567-89ab-cdef-0123-456789abcdef',
    '4c4c4544-0000-2010-8020-80c04f202020',  # Dell, without a service tag
    'fefefefe-fefe-fefe-fefe-fefefefefefe',
)


class BadRange(ValueError):
    """A range of addresses that cannot be used. The text is a sentence."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A BMC to ask.

    :ivar driver_info: how to log in, with the names of Ironic.
    :ivar is_named: whether the user named it. Other addresses of a range may have no BMC, which is no failure.
    """

    driver_info: Mapping[str, Any] = dataclasses.field(repr=False)
    is_named: bool = True


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits of a discovery.

    :ivar jobs: number of BMCs that are asked at a time.
    :ivar probe: seconds that an address may take to show that it has a BMC.
    :ivar timeout: seconds that a BMC may take for one answer.
    :ivar total: seconds that all answers of a BMC may take.
    """

    jobs: int = 64
    probe: float = 3
    timeout: float = 10
    total: float = 120


@dataclasses.dataclass(frozen=True)
class Discovered:
    """A machine that a BMC shows, or a BMC that failed.

    :ivar driver_info: what a node needs for it, with the password.
    :ivar inspection: its facts; None for a BMC that failed.
    :ivar problem: why the BMC failed, a sentence; '' for a machine.
    """

    driver_info: Mapping[str, Any] = dataclasses.field(repr=False)
    inspection: Inspection | None = dataclasses.field(default=None, repr=False)
    problem: str = ''

    @property
    def address(self) -> str:
        """The address of the BMC."""
        return str(self.driver_info.get('redfish_address') or '')

    @property
    def system(self) -> str:
        """The path of the System; '' if it is not known."""
        return str(self.driver_info.get('redfish_system_id') or '')

    @property
    def uuid(self) -> str:
        """The UUID of the System in lower case; '' if it has none that only one machine has."""
        uuid = canonical(text(self._redfish, 'uuid'))
        return uuid if is_canonical(uuid) and len(set(uuid)) > 2 and uuid not in _DEFAULTS else ''

    @property
    def macs(self) -> list[str]:
        """The MAC addresses of its network interfaces."""
        macs = [each['mac_address'] for each in self._inventory.get('interfaces', ())]
        # An odd first byte is an address of a group.
        return sorted({mac for mac in macs if not int(mac[:2], 16) % 2})

    @property
    def vendor(self) -> Mapping[str, Any]:
        """``manufacturer``, ``product_name`` and ``serial_number``, as far as they are known."""
        return self._inventory.get('system_vendor', {})

    @property
    def cpu(self) -> str:
        """The name of the processor; '' if it is not known."""
        return str(self._inventory.get('cpu', {}).get('model_name') or '')

    @functools.cached_property
    def traits(self) -> list[str]:
        """The traits that the standard rules give, sorted."""
        if self.inspection is None:
            return []
        facts = rule_evaluation.facts_of(self.inspection.document)
        return sorted(rule_evaluation.evaluate(inspection_rules.standard(), facts).traits)

    @property
    def _inventory(self) -> Mapping[str, Any]:
        return self.inspection.inventory if self.inspection else {}

    @property
    def _redfish(self) -> Mapping[str, Any]:
        return self.inspection.plugin_data['redfish'] if self.inspection else {}


def targets(ranges: Iterable[str], login: Mapping[str, Any], port: int | None = None) -> list[Target]:
    """Return the targets of ranges of addresses.

    :param ranges: addresses, and networks such as 10.0.0.0/24.
    :param login: the ``driver_info`` of each, without the address.
    :param port: of https; None for the default one.
    :raises BadRange: one of them is no range, or they have too many addresses.
    """
    networks = [_network(each) for each in ranges]
    if sum(each.num_addresses for each in networks) > MAX_ADDRESSES:
        raise BadRange(f'The ranges have more than {MAX_ADDRESSES:,} addresses.')
    every = dict.fromkeys(itertools.chain.from_iterable(network.hosts() for network in networks))
    return [
        Target({**login, 'redfish_address': addresses.host_url('https', str(ip), port)}, is_named=False) for ip in every
    ]


def _network(range_: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    try:
        network = ipaddress.ip_network(range_.strip(), strict=False)
    except ValueError:
        raise BadRange(f'{range_!r} is no range of addresses, such as 10.0.0.0/24.') from None
    if network.is_multicast:
        raise BadRange(f'{range_} is a range of multicast addresses.')
    return network


def discover(
    every: Iterable[Target], limits: Limits | None = None, progress: Callable[[], Any] = lambda: None
) -> Iterator[Discovered]:
    """Generate what BMCs show, as they answer. To end early, close the generator: this also ends all sessions.

    :param progress: function that is called when an address is done.
    """
    limits = limits or Limits()
    stopped = threading.Event()
    pool = ThreadPoolExecutor(limits.jobs)
    try:
        for future in as_completed([pool.submit(_discover, target, limits, stopped) for target in _distinct(every)]):
            progress()
            yield from future.result()
    finally:
        stopped.set()
        pool.shutdown(cancel_futures=True)


def _distinct(every: Iterable[Target]) -> list[Target]:
    """Return the targets without those that are there twice. One that the user named counts more."""
    found: dict[str, Target] = {}
    for target in sorted(every, key=lambda each: not each.is_named):
        driver_info = dict(target.driver_info)
        with contextlib.suppress(BadAddress):
            driver_info['redfish_address'] = addresses.url(str(driver_info.get('redfish_address') or ''))
        key = str([driver_info.get(name) for name in ('redfish_address', 'redfish_system_id')])
        found.setdefault(key, Target(driver_info, target.is_named))
    return list(found.values())


def _discover(target: Target, limits: Limits, stopped: threading.Event) -> list[Discovered]:
    """Return the machines of a BMC; [] if there is no BMC at an address of a range."""
    if stopped.is_set():
        return []
    try:
        access = bmcs.access(target.driver_info)
        try:
            _probe(access, limits.probe)
        except Failure:
            if target.is_named:
                raise
            return []
        return _read(target, access, limits, stopped)
    except (Failure, Unreadable) as error:
        return [Discovered(target.driver_info, problem=_without_options(error))]
    except Exception as error:  # Documents may have any form, and one bad BMC must not end the discovery of the others.
        return [Discovered(target.driver_info, problem=f'The BMC shows something that cannot be used: {error!r}.')]


def _probe(access: Access, timeout: float) -> None:
    """Ask for the service root, without a password and without a check of the certificate.

    :raises Failure: there is none.
    """
    anonymous = dataclasses.replace(access, username='', password='', auth_type='auto', verify=False, system='')
    # sushy repeats a request after a connection was refused.
    with connect(anonymous, timeout, 2 * timeout) as bmc:
        document = bmc.document()
    if not text(document, 'RedfishVersion') and 'ServiceRoot' not in text(document, '@odata.type'):
        raise Failure('There is no BMC: /redfish/v1 is no service root of Redfish.')


def connect(access: Access, timeout: float, total: float) -> contextlib.AbstractContextManager[Bmc]:
    """Log in to a BMC, whatever Systems it has. The user has named it, so it may have an address of this machine.

    :raises Failure: as ``bmcs.connect``.
    """
    return bmcs.connect(dataclasses.replace(access, system=access.system or ROOT), timeout, total, local=True)


def _read(target: Target, access: Access, limits: Limits, stopped: threading.Event) -> list[Discovered]:
    with connect(access, limits.timeout, limits.total) as bmc:
        tree = _StoppableTree(bmc, stopped)
        paths = [access.system] if access.system else inspections.machine_paths(tree)
        return [_machine(target, tree, path) for path in paths]


def _machine(target: Target, tree: Tree, path: str) -> Discovered:
    driver_info = {**target.driver_info, 'redfish_system_id': path}
    try:
        return Discovered(driver_info, inspections.inspect(tree, path))
    except Unreadable as error:
        return Discovered(driver_info, problem=_without_options(error))


def _without_options(error: Exception) -> str:
    """Return the sentence of an error. Options of the service have no effect here."""
    return re.sub(r' \(\[redfish\] \w+\)', '', str(error))


class _StoppableTree:
    """The documents of a BMC, until the discovery is stopped."""

    def __init__(self, tree: Tree, stopped: threading.Event) -> None:
        self._tree, self._stopped = tree, stopped

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the document of a path."""
        if self._stopped.is_set():
            raise Failure('The discovery was stopped.')
        return self._tree.get(path)
