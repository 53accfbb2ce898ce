"""redfish: a driver for machines with a BMC. It reads them, powers them on and off, and lets them boot an ISO image."""

import functools
import logging
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from ironic_traits.deploy import base, ramdisk, redfish_power, states, steps
from ironic_traits.deploy.redfish_management import RedfishManagement
from ironic_traits.redfish import bmcs, inspections, virtual_media
from ironic_traits.redfish.bmcs import Bmc, Failure, Unknown
from ironic_traits.redfish.connections import LOGOUT
from ironic_traits.redfish.trees import Unreadable, inner, text

LOG = logging.getLogger(__name__)

_HEALTHS = ('OK', 'Warning', 'Critical')
_NO_DEPLOY = (
    'The hardware type redfish of this service only lets a machine boot an ISO image: set deploy_interface to ramdisk '
    'and boot_interface to redfish-virtual-media for that. Otherwise deploy the machine by another service, such as '
    'Ironic, and adopt it (the verb "adopt"), or mirror that service.'
)
_NO_ERASURE = (
    'The hardware type redfish does not erase disks, so the node cannot be cleaned after its instance. Erase them, set '
    'automated_clean of the node to false, and undeploy it again.'
)


class RedfishHardware(RedfishManagement):
    """A driver for machines with a BMC that speaks Redfish. Its options are those of [redfish]."""

    interfaces = {
        'bios': ('no-bios',),
        'boot': ('noop', ramdisk.BOOT),
        'console': ('no-console',),
        'deploy': ('noop', ramdisk.DEPLOY),
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
    #: A request that names steps of the others is refused.
    steps = {'deploy': ramdisk.STEPS, 'clean': (), 'service': ()}
    runs_ramdisk = False
    core_deploy_steps = frozenset((step.interface, step.name) for step in ramdisk.STEPS)
    refreshable = frozenset({'redfish'})
    watches = True

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        super().__init__(conf)
        # Another worker may take over when the lease ends. Until then, the session of the BMC must have ended, too.
        if conf.redfish.system_timeout + LOGOUT >= conf.deploy.lease_seconds:
            raise cfg.Error(
                f'[deploy] lease_seconds must be more than {LOGOUT} seconds longer than [redfish] system_timeout.'
            )

    def validate(self, node: Mapping[str, Any]) -> dict[str, str]:
        """See ``base.Driver``."""
        problems = ramdisk.problems(node, self.conf) if _boots_images(node) else {'deploy': _NO_DEPLOY}
        try:
            bmcs.access(node['driver_info'])
        except Failure as error:
            problems |= dict.fromkeys(('management', 'power', 'inspect'), str(error))
        return problems

    def work(self, task: base.Task) -> base.Done | base.Later:
        """See ``base.Driver``."""
        if task.action in ('deploy', 'rebuild', 'undeploy') and _boots_images(task.node):
            outcome = ramdisk.work(task, self.conf, functools.partial(self._connect, task.node))
            if task.action == 'undeploy' and isinstance(outcome, base.Done):
                self._check_erasure(task.node, outcome)
            return outcome
        if task.action in ('deploy', 'rebuild'):
            raise base.WorkFailed(_NO_DEPLOY)
        if task.action == 'undeploy':
            self._check_erasure(task.node)
        if task.action not in _WORK:
            raise base.WorkRefused(f'The hardware type redfish has no "{task.action}".')
        try:
            with self._bmc(task.node) as bmc:
                return _WORK[task.action](task, bmc)
        except base.WorkFailed as error:
            if task.action != 'undeploy' or not task.node['disable_power_off']:
                raise
            # Nothing depends on its BMC.
            LOG.warning('Node %s: its virtual media are not ejected: %s', task.node['uuid'], error)
            return base.Done()

    def observe(self, node: Mapping[str, Any]) -> base.Observed:
        """See ``base.Driver``."""
        with self._bmc(node) as bmc:
            document = bmc.document()
        status = inner(document, 'Status')
        health = text(status, 'HealthRollup', 'Health')
        return base.Observed(redfish_power.shown(document), health if health in _HEALTHS else None)

    def _check_erasure(self, node: Mapping[str, Any], done: base.Done | None = None) -> None:
        if steps.is_cleaned(self.conf.deploy, node):
            raise base.WorkRefused(_NO_ERASURE, done)


def _boots_images(node: Mapping[str, Any]) -> bool:
    return bool(node['deploy_interface'] == ramdisk.DEPLOY)


def _undeploy(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    """Power the machine off, and eject what its user has attached."""
    off = base.Done() if task.node['disable_power_off'] else redfish_power.change(task, bmc, states.POWER_OFF)
    if isinstance(off, base.Done):
        try:
            virtual_media.eject(bmc, virtual_media.KINDS)
        except Unknown as error:
            LOG.info('Node %s: no virtual medium is ejected: %s', task.node['uuid'], error)
        except (Failure, Unreadable) as error:
            LOG.warning('Node %s: its virtual media could not be ejected: %s', task.node['uuid'], error)
    return off


def _power(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    return redfish_power.change(task, bmc, task.arguments['target'])


def _inspect(task: base.Task, bmc: Bmc) -> base.Done:
    found = inspections.inspect(bmc, bmc.system)
    return base.Done(facts=base.Facts(found.document, found.unread, found.unknown))


#: {action: how it is performed}.
_WORK = {
    'verify': redfish_power.read,
    'adopt': redfish_power.read,
    'undeploy': _undeploy,
    'power': _power,
    'inspect': _inspect,
    'refresh': _inspect,
}
