"""redfish: a driver for machines with a BMC. It reads them, and changes their power state and boot device only.

It does not deploy. Who does, brings its nodes here by "adopt", or by the mirror.
"""

import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any

from oslo_config import cfg

from ironic_traits.deploy import base, states, steps
from ironic_traits.redfish import bmcs, inspections
from ironic_traits.redfish.bmcs import Bmc, Failure
from ironic_traits.redfish.trees import Unreadable, inner, text

#: {target: (kinds of resets, the best first, of a machine that runs; of one that is off)}.
_RESETS = {
    states.POWER_ON: ((), ('On', 'ForceOn')),
    states.POWER_OFF: (('ForceOff',), ()),
    states.SOFT_POWER_OFF: (('GracefulShutdown',), ()),
    states.REBOOT: (('ForceRestart', 'PowerCycle'), ('On', 'ForceOn')),
    states.SOFT_REBOOT: (('GracefulRestart',), ('On', 'ForceOn')),
}
#: {PowerState: power state}. Others are not known.
_POWER = {
    'On': states.POWER_ON,
    'PoweringOff': states.POWER_ON,
    'Off': states.POWER_OFF,
    'PoweringOn': states.POWER_OFF,
}
_HEALTHS = ('OK', 'Warning', 'Critical')
#: Seconds between two readings of a power state that is to change, and number of readings of one that is changing.
_INTERVAL, _CHANGES = 2, 5
#: {source of Redfish: boot device of Ironic}. Of several sources of a device, the first is set.
_DEVICES = {
    'Pxe': 'pxe',
    'Hdd': 'disk',
    'Cd': 'cdrom',
    'UsbCd': 'cdrom',
    'BiosSetup': 'bios',
    'UefiHttp': 'uefihttp',
}
_PERSISTENT = {'Once': False, 'Continuous': True}
_NO_DEPLOY = (
    'The hardware type redfish of this service does not deploy. Deploy the machine by another service, such as Ironic, '
    'and adopt it (the verb "adopt"), or mirror that service.'
)
_NO_ERASURE = (
    'The hardware type redfish does not erase disks, so the node cannot be cleaned after its instance. Erase them, set '
    'automated_clean of the node to false, and undeploy it again.'
)


class RedfishHardware(base.Driver):
    """A driver for machines with a BMC that speaks Redfish. Its options are those of [redfish]."""

    interfaces = {
        'bios': ('no-bios',),
        'boot': ('noop',),
        'console': ('no-console',),
        'deploy': ('noop',),
        'firmware': ('no-firmware',),
        'inspect': ('redfish', 'no-inspect'),
        'management': ('redfish',),
        'network': ('noop',),
        'power': ('redfish',),
        'raid': ('no-raid',),
        'rescue': ('no-rescue',),
        'storage': ('noop',),
        'vendor': ('no-vendor',),
    }
    properties = {
        'redfish_address': 'The URL of the BMC, as https://10.0.0.5. Required.',
        'redfish_system_id': 'The path of the System, as /redfish/v1/Systems/1. Required if the BMC has several.',
        'redfish_username': 'The user name.',
        'redfish_password': 'The password.',
        'redfish_verify_ca': 'Whether to verify the certificate of the BMC (true), or the path of a file or directory '
        'with the certificates that are trusted.',
        'redfish_auth_type': 'How to log in: basic, session, or auto, which is the default.',
    }
    #: None: a request that names steps is refused.
    steps = {'clean': (), 'service': ()}
    refreshable = frozenset({'redfish'})
    watches = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        if conf.redfish.system_timeout >= conf.deploy.lease_seconds:
            raise cfg.Error('[redfish] system_timeout must be shorter than [deploy] lease_seconds.')

    def validate(self, node: Mapping[str, Any]) -> dict[str, str]:
        """See ``base.Driver``."""
        problems = {'deploy': _NO_DEPLOY}
        try:
            bmcs.access(node['driver_info'])
        except Failure as error:
            problems |= dict.fromkeys(('management', 'power', 'inspect'), str(error))
        return problems

    def work(self, task: base.Task) -> base.Done | base.Later:
        """See ``base.Driver``."""
        if task.action in ('deploy', 'rebuild'):
            raise base.WorkFailed(_NO_DEPLOY)
        if task.action == 'undeploy' and steps.is_cleaned(self.conf.deploy, task.node):
            raise base.WorkRefused(_NO_ERASURE)
        if task.action not in _WORK:
            raise base.WorkRefused(f'The hardware type redfish has no "{task.action}".')
        with self._bmc(task.node) as bmc:
            return _WORK[task.action](task, bmc)

    def observe(self, node: Mapping[str, Any]) -> base.Observed:
        """See ``base.Driver``."""
        with self._bmc(node) as bmc:
            document = bmc.document()
        status = inner(document, 'Status')
        health = text(status, 'HealthRollup', 'Health')
        return base.Observed(_power_state(document), health if health in _HEALTHS else None)

    def boot_devices(self, node: Mapping[str, Any]) -> list[str]:
        """See ``base.Driver``."""
        with self._bmc(node) as bmc:
            known = bmc.boot_sources()
        return list(dict.fromkeys(name for source, name in _DEVICES.items() if source in known))

    def boot_device(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """See ``base.Driver``."""
        with self._bmc(node) as bmc:
            boot = inner(bmc.document(), 'Boot')
        enabled = text(boot, 'BootSourceOverrideEnabled')
        if enabled not in _PERSISTENT:
            return {'boot_device': None, 'persistent': None}
        source = _DEVICES.get(text(boot, 'BootSourceOverrideTarget'))
        return {'boot_device': source, 'persistent': _PERSISTENT[enabled]}

    def set_boot_device(self, node: Mapping[str, Any], device: str, persistent: bool) -> None:
        """See ``base.Driver``."""
        with self._bmc(node) as bmc:
            known = bmc.boot_sources()
            usable = [source for source, name in _DEVICES.items() if name == device and source in known]
            if not usable:
                raise Failure(f'The BMC cannot boot from "{device}".')
            bmc.set_boot_source(usable[0], 'Continuous' if persistent else 'Once')

    @contextlib.contextmanager
    def _bmc(self, node: Mapping[str, Any]) -> Iterator[Bmc]:
        """Log in to the BMC of a node. Turn its failures into those of drivers."""
        options = self.conf.redfish
        limits = (options.timeout, options.system_timeout, options.allow_local_addresses)
        try:
            with bmcs.connect(bmcs.access(node['driver_info']), *limits) as bmc:
                yield bmc
        except (Failure, Unreadable) as error:
            raise base.WorkFailed(str(error)) from None


def _read_power_state(task: base.Task, bmc: Bmc) -> base.Done:
    state = _power_state(bmc.document())
    if state is None:
        raise Failure('The BMC does not show the power state.')
    return base.Done(power_state=state)


def _undeploy(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    if task.node['disable_power_off']:
        return base.Done()
    return _change_power(task, bmc, states.POWER_OFF)


def _power(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    return _change_power(task, bmc, task.arguments['target'])


def _change_power(task: base.Task, bmc: Bmc, target: str) -> base.Done | base.Later:
    """Change the power state in the first phase. In the others, wait until it has changed."""
    state, end = _settled_power_state(bmc), states.POWER_TARGETS[target]
    if task.phase == 0:
        running, off = _RESETS[target]
        kinds = {states.POWER_ON: running, states.POWER_OFF: off}.get(state or '', running + off)
        if kinds:
            bmc.reset(*kinds)
            return base.Later(_INTERVAL)
    return base.Done(power_state=state) if state == end else base.Later(_INTERVAL)


def _inspect(task: base.Task, bmc: Bmc) -> base.Done:
    found = inspections.inspect(bmc, bmc.system)
    return base.Done(facts=base.Facts(found.document, found.unread, found.unknown))


def _settled_power_state(bmc: Bmc) -> str | None:
    """Return the power state, after a change that is under way if that does not take long."""
    for _ in range(_CHANGES):
        document = bmc.document()
        if not text(document, 'PowerState').startswith('Powering'):
            break
        time.sleep(_INTERVAL)
    return _power_state(document)


def _power_state(document: Mapping[str, Any]) -> str | None:
    return _POWER.get(text(document, 'PowerState'))


#: {action: how it is performed}.
_WORK = {
    'verify': _read_power_state,
    'adopt': _read_power_state,
    'undeploy': _undeploy,
    'power': _power,
    'inspect': _inspect,
    'refresh': _inspect,
}
