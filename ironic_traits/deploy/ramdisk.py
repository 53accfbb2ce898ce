"""The deploy interface ``ramdisk`` with the boot interface ``redfish-virtual-media``: a machine boots an ISO image.

Each step looks at the BMC, does what is left to do, and looks again later. So it can be done twice, and continued by
another worker. A BMC that fails, or shows what was a moment ago, is asked again.
"""

import dataclasses
import json
import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from oslo_config import cfg
from oslo_utils import uuidutils

from ironic_traits.deploy import base, redfish_power, states
from ironic_traits.deploy.steps import Step, label
from ironic_traits.redfish import boot_images, boot_settings, config_drives, virtual_media
from ironic_traits.redfish.bmcs import Bmc, Failure, Refused, Unknown
from ironic_traits.redfish.trees import Unreadable, text

LOG = logging.getLogger(__name__)

DEPLOY, BOOT = 'ramdisk', 'redfish-virtual-media'
#: The names and priorities that Ironic has for the parts of a deploy. Steps of others can come between them.
STEPS = tuple(
    Step('deploy', name, priority=priority, requires_ramdisk=False)
    for name, priority in (('deploy', 100), ('prepare_instance_boot', 60), ('boot_instance', 20))
)
#: Maximum number of looks at a BMC in one step. Every fifth one also does what is left to do.
_LOOKS, _TURN = 25, 5
_HINT = ' To undeploy the node without its BMC, set maintenance, and then deploy_interface to noop.'
#: Seconds between two looks: of the first ten, and of the others.
_SOON, _LATER = 2, 10


def problems(node: Mapping[str, Any], conf: cfg.ConfigOpts) -> dict[str, str]:
    """Return {interface: what a node lacks for a deploy}.

    :param node: as for ``base.Task``.
    """
    if node['boot_interface'] != BOOT:
        return {'deploy': f"The deploy interface ramdisk needs the boot interface '{BOOT}'."}
    info = node['instance_info']
    if conf.glance.endpoint_override and not info.get('boot_iso') and uuidutils.is_uuid_like(info.get('image_source')):
        # A deploy looks up the ISO image of the image in Glance.
        return {}
    try:
        _check_instance(node, conf)
    except boot_images.BadImage as error:
        return {'boot': str(error)}
    return {}


def _check_instance(node: Mapping[str, Any], conf: cfg.ConfigOpts) -> None:
    """Raise BadImage if an instance asks for something that cannot be done."""
    instance_info, mode = node['instance_info'], _boot_mode(node)
    if not instance_info.get('boot_iso'):
        raise boot_images.BadImage('boot_iso is missing in instance_info: the URL of the ISO image to boot.')
    boot_images.check_url('boot_iso in instance_info', instance_info['boot_iso'])
    if 'kernel_append_params' in instance_info:
        raise boot_images.BadImage(
            'kernel_append_params in instance_info cannot be used: the image is booted as it is. Build an ISO image '
            'with these parameters.'
        )
    drive = node['configdrive']
    if drive is not None and not config_drives.is_url(drive):
        config_drives.unpack(drive)
    if url := _config_drive(node, conf):
        boot_images.check_url('The config drive', url)
    if mode and mode not in boot_settings.MODES:
        raise boot_images.BadImage(
            f'The boot mode in the capabilities must be one of: {", ".join(boot_settings.MODES)}.'
        )
    if _asked(node) is None:
        raise boot_images.BadImage('capabilities in instance_info must be an object, or the JSON of one.')
    if _capability(node, 'secure_boot') not in ('', 'true', 'false'):
        raise boot_images.BadImage('secure_boot in the capabilities must be true or false.')
    if mode == 'bios' and _is_secure(node):
        raise boot_images.BadImage('secure_boot in the capabilities needs the boot mode uefi.')


def _config_drive(node: Mapping[str, Any], conf: cfg.ConfigOpts) -> str | None:
    """Return the URL of the config drive of an instance; None without one.

    :raises BadImage: this service has no URL for BMCs.
    """
    drive: str | None = node['configdrive']
    if drive is None or config_drives.is_url(drive):
        return drive
    base_url = conf.deploy.http_url or conf.api.public_endpoint
    if not base_url:
        raise boot_images.BadImage(
            'The config drive must be a URL: this service does not know the URL at which BMCs reach it. Set [deploy] '
            'http_url.'
        )
    return f'{base_url.rstrip("/")}{config_drives.path(node["uuid"], drive)}'


def work(
    task: base.Task, conf: cfg.ConfigOpts, connect: Callable[[], AbstractContextManager[Bmc]]
) -> base.Done | base.Later:
    """Perform a step of a deploy, or an undeploy.

    :param connect: logs in to the BMC of the node.
    :raises base.WorkFailed: there is no such step, the image cannot be booted, or the BMC still fails after some time.
    """
    name = label(task.step) if task.step else task.action
    if name not in _WORK:
        raise base.WorkFailed(f'The hardware type redfish has no deploy step "{name}".')
    try:
        if task.step:
            task = dataclasses.replace(task, node={**task.node, 'configdrive': _config_drive(task.node, conf)})
        if name == 'deploy.deploy' and not task.phase:
            # In a phase of its own, because the server of the image may take as long as the BMC.
            _check_images(task.node, conf)
            return base.Later(0)
    except boot_images.BadImage as error:
        raise base.WorkFailed(str(error)) from None
    try:
        with connect() as bmc:
            return _WORK[name](task, bmc)
    except (Failure, Unreadable) as error:
        if isinstance(error, Refused) or _looks(task) >= _LOOKS:
            raise base.WorkFailed(f'{error}{_HINT if task.action == "undeploy" else ""}') from None
        LOG.info('Node %s: %s: looks again later: %s', task.node['uuid'], name, error)
    return base.Later(_SOON if _looks(task) < 10 else _LATER)


def _check_images(node: Mapping[str, Any], conf: cfg.ConfigOpts) -> None:
    """Raise BadImage before the machine is touched, if an image cannot be booted."""
    _check_instance(node, conf)
    boot_images.check(node['instance_info']['boot_iso'], conf.redfish.timeout, conf.redfish.allow_local_addresses)


def _stop(task: base.Task, bmc: Bmc) -> base.Done:
    """Power the machine off, and eject what it has booted before."""
    if task.step:
        virtual_media.check(bmc, _devices(task))
        if _is_secure(task.node):
            boot_settings.secure_boot(bmc)
    if not task.node['disable_power_off'] and redfish_power.shown(bmc.document()) != states.POWER_OFF:
        if _is_turn(task):
            bmc.reset('ForceOff')
        raise Failure('The machine does not power off.')
    try:
        if _is_turn(task):
            virtual_media.eject(bmc, _devices(task))
        if virtual_media.inserted(bmc, _devices(task)):
            raise Failure('The BMC does not eject the image of a virtual medium.')
    except Unknown:
        # A machine without media of its own has booted none.
        if task.step:
            raise
    if not task.step and _is_secure(task.node):
        _end_secure_boot(task, bmc)
    power_state = None if task.node['disable_power_off'] else states.POWER_OFF
    return base.Done(power_state=power_state, boot=boot_settings.shown(bmc, bmc.document()))


def _end_secure_boot(task: base.Task, bmc: Bmc) -> None:
    """Switch secure boot off. An undeploy does not fail because of it: ``secure_boot`` of the node shows it."""
    try:
        boot_settings.set_secure_boot(bmc, False)
    except Unknown as error:
        LOG.info('Node %s: secure boot is left as it is: %s', task.node['uuid'], error)
    except (Failure, Unreadable) as error:
        if _looks(task) < _LOOKS // 2:
            raise
        LOG.warning('Node %s: secure boot could not be switched off: %s', task.node['uuid'], error)


def _insert(task: base.Task, bmc: Bmc) -> base.Done:
    """Insert the image, and the config drive into another medium."""
    images = _images(task)
    if _is_turn(task):
        virtual_media.eject(bmc, images, but=images.values())
    inserted = _inserted(task, bmc)
    for number, (device, url) in enumerate(images.items(), 1):
        if inserted < number and _is_turn(task):
            virtual_media.insert(bmc, device, url)
            inserted = _inserted(task, bmc)
        if inserted < number:
            raise Failure('The BMC does not insert the image into a virtual medium.')
    return base.Done()


def _images(task: base.Task) -> dict[str, str]:
    """Return the images of a deploy: {device: URL}."""
    urls = (task.node['instance_info']['boot_iso'], task.node['configdrive'])
    return dict(zip(_devices(task), urls, strict=False))


def _inserted(task: base.Task, bmc: Bmc) -> int:
    """Return the number of media that have an image of the deploy."""
    images = _images(task)
    return sum(any(map(each.shows, images.values())) for each in virtual_media.inserted(bmc, images))


def _start(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    """Power the machine on, or restart it if it cannot be powered off, and let it boot from the virtual CD."""
    system, restarts = bmc.document(), task.node['disable_power_off']
    is_on = redfish_power.shown(system) == states.POWER_ON
    if not task.phase:
        if is_on and not restarts:
            raise base.WorkFailed('The machine was powered on during the deploy.')
        # In a phase of its own: a machine that is on after this one has booted the image.
        _prepare_boot(task, bmc)
        return base.Later(0)
    starts = text(system, 'PowerState') == 'PoweringOn'
    if _is_turn(task) and (restarts or not is_on) and not starts:
        _prepare_boot(task, bmc)
        bmc.reset(*(('ForceRestart', 'PowerCycle') if is_on else ('On', 'ForceOn')))
        is_on = restarts
    if starts or not is_on:
        raise Failure('The machine does not power on.')
    return base.Done(power_state=states.POWER_ON, boot=boot_settings.shown(bmc, system))


def _prepare_boot(task: base.Task, bmc: Bmc) -> None:
    """Set the boot source, and secure boot if the instance asks for it."""
    virtual_media.boot_once(bmc, _boot_mode(task.node))
    if _is_secure(task.node):
        boot_settings.set_secure_boot(bmc, True)
    # A BMC that cannot read an image may show it as inserted for a moment.
    if _inserted(task, bmc) < len(_images(task)):
        raise Failure('The BMC has ejected an image. Perhaps it cannot read its URL.')


def _devices(task: base.Task) -> tuple[str, ...]:
    """Return the devices of the images. A deploy without a config drive leaves disks alone: one may have drivers."""
    if not task.step:
        return tuple(virtual_media.KINDS)
    return ('cdrom', 'disk') if task.node['configdrive'] is not None else ('cdrom',)


def _boot_mode(node: Mapping[str, Any]) -> str:
    """Return the boot mode that the instance needs, else the one of the node; '' if neither has one."""
    if mode := _capability(node, 'boot_mode') or ('uefi' if _is_secure(node) else ''):
        return mode
    pairs = str(node['properties'].get('capabilities') or '')
    known = {name.strip(): value for name, _, value in (pair.partition(':') for pair in pairs.split(','))}
    return known.get('boot_mode', '').strip().lower()


def _is_secure(node: Mapping[str, Any]) -> bool:
    """Whether the instance asks for secure boot."""
    return _capability(node, 'secure_boot') == 'true'


def _capability(node: Mapping[str, Any], name: str) -> str:
    """Return a capability that the instance asks for, in lower case; '' without it."""
    value = (_asked(node) or {}).get(name)
    return '' if value is None else str(value).strip().lower()


def _asked(node: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the capabilities that the instance asks for; None if they cannot be read."""
    own = node['instance_info'].get('capabilities')
    try:
        asked = json.loads(own) if isinstance(own, str) and own else own or {}
    except (ValueError, RecursionError):
        return None
    return asked if isinstance(asked, dict) else None


def _looks(task: base.Task) -> int:
    """Return how often the step has looked at the BMC. Two steps prepare something in their first phase."""
    return task.phase - (task.step is not None and task.step['step'] in ('deploy', 'boot_instance'))


def _is_turn(task: base.Task) -> bool:
    """Whether it is time to do what is left to do, and not only to look."""
    return _looks(task) % _TURN == 0


#: {step of a deploy, or action: how it is performed}.
_WORK = {
    'deploy.deploy': _stop,
    'deploy.prepare_instance_boot': _insert,
    'deploy.boot_instance': _start,
    'undeploy': _stop,
}
