"""The deploy interface ``ramdisk`` with the boot interface ``redfish-virtual-media``: a machine boots an ISO image.

Each step looks at the BMC, does what is left to do, and looks again later. So it can be done twice, and continued by
another worker. A BMC that fails, or shows what was a moment ago, is asked again.
"""

import dataclasses
import itertools
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from oslo_config import cfg
from oslo_utils import uuidutils

from ironic_traits.deploy import base, redfish_power, states
from ironic_traits.deploy.steps import Step, label
from ironic_traits.redfish import boot_images, boot_settings, config_drives, virtual_media
from ironic_traits.redfish.bmcs import Bmc, Failure, Refused, Unknown
from ironic_traits.redfish.trees import Unreadable, text
from ironic_traits.redfish.virtual_media import Medium

LOG = logging.getLogger(__name__)

DEPLOY, BOOT = 'ramdisk', 'redfish-virtual-media'
#: The names and priorities that Ironic has for the parts of a deploy. Steps of others can come between them.
STEPS = tuple(
    Step('deploy', name, priority=priority, requires_ramdisk=False)
    for name, priority in (('deploy', 100), ('prepare_instance_boot', 60), ('boot_instance', 20))
)
#: Maximum number of looks at a BMC in one step. Every fifth one also does what is left to do.
_LOOKS, _TURN = 25, 5
#: The phase of a step, or of an undeploy, in which a machine is started: everything is prepared.
_PREPARED = 100
_HINT = (
    ' If the BMC refuses the virtual media, set maintenance and then deploy_interface to noop, and undeploy the node '
    'again. If it does not answer at all, set disable_power_off to true, too.'
)
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
        node = {**node, 'instance_info': {**info, 'boot_iso': conf.glance.endpoint_override}}
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
            images = task.node['instance_info'].get('boot_iso'), task.node['configdrive']
            bmc.hide(image for image in images if isinstance(image, str) and config_drives.is_url(image))
            return _WORK[name](task, bmc)
    except (Failure, Unreadable) as error:
        if isinstance(error, Refused) or _looks(task) >= _LOOKS:
            raise base.WorkFailed(f'{error}{_HINT if task.action == "undeploy" else ""}') from None
        LOG.info('Node %s: %s: looks again later: %s', task.node['uuid'], name, error)
    return base.Later(_SOON if _looks(task) < 10 else _LATER)


def _check_images(node: Mapping[str, Any], conf: cfg.ConfigOpts) -> None:
    """Raise BadImage before the machine is touched, if an image cannot be booted."""
    _check_instance(node, conf)
    info = node['instance_info']
    if conf.glance.endpoint_override and info.get('original_image_source') not in (None, info.get('image_source')):
        raise boot_images.BadImage('image_source has changed after its ISO image was looked up. Deploy the node again.')
    boot_images.check(info['boot_iso'], conf.redfish.timeout, conf.redfish.allow_local_addresses)


def _stop(task: base.Task, bmc: Bmc) -> base.Done:
    """Power the machine off, and eject what it has booted before."""
    if task.step:
        virtual_media.check(bmc, _devices(task))
        if _is_secure(task.node):
            boot_settings.secure_boot(bmc)
    if not task.node['disable_power_off']:
        _power_off(task, bmc)
    # The instance before a rebuild may have had a config drive.
    devices = tuple(virtual_media.KINDS) if task.action == 'rebuild' else _devices(task)
    try:
        if _is_turn(task):
            virtual_media.eject(bmc, devices)
        if virtual_media.inserted(bmc, devices):
            raise Failure('The BMC does not eject the image of a virtual medium.')
    except Unknown:
        # A machine without media of its own has booted none.
        if task.step:
            raise
    if not task.step and _is_secure(task.node):
        _end_secure_boot(task, bmc)
    power_state = None if task.node['disable_power_off'] else states.POWER_OFF
    return base.Done(power_state=power_state, boot=boot_settings.shown(bmc, bmc.document()))


def _power_off(task: base.Task, bmc: Bmc) -> None:
    """Raise Failure until the machine is off."""
    is_off = redfish_power.shown(bmc.document()) == states.POWER_OFF
    # An undeploy may follow a deploy that has just sent "On", before the BMC shows it.
    if is_off and (task.step or _looks(task)):
        return
    if _is_turn(task):
        try:
            bmc.reset('ForceOff')
        except Failure:
            if not is_off:
                raise
    raise Failure('The machine does not power off.')


def _undeploy(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    """Stop the machine; restart it if it cannot be powered off, so that nothing of its instance runs any more."""
    restarts = task.node['disable_power_off']
    if task.phase >= _PREPARED:
        if not _is_turn(task):
            raise Failure('The machine does not restart.')
        bmc.reset('ForceRestart', 'PowerCycle')
        return base.Done()
    done = _stop(task, bmc)
    is_off = restarts and redfish_power.shown(bmc.document()) == states.POWER_OFF
    return base.Later(0, _PREPARED) if restarts and not is_off else done


def _end_secure_boot(task: base.Task, bmc: Bmc) -> None:
    """Switch secure boot off. An undeploy does not fail because of it: ``secure_boot`` of the node shows it."""
    try:
        boot_settings.set_secure_boot(bmc, False)
    except Unknown as error:
        LOG.info('Node %s: secure boot is left as it is: %s', task.node['uuid'], error)
    except (Failure, Unreadable) as error:
        if _looks(task) < _LOOKS // 2 and not isinstance(error, Refused):
            raise
        LOG.warning('Node %s: secure boot could not be switched off: %s', task.node['uuid'], error)


def _insert(task: base.Task, bmc: Bmc) -> base.Done:
    """Insert the image, and the config drive into another medium."""
    images = _images(task)
    if _is_turn(task):
        virtual_media.eject(bmc, images, but=images.values())
    for device in _missing(task, bmc):
        if _is_turn(task):
            virtual_media.insert(bmc, device, images[device])
        if device in _missing(task, bmc):
            raise Failure('The BMC does not insert the image into a virtual medium.')
    return base.Done()


def _images(task: base.Task) -> dict[str, str]:
    """Return the images of a deploy: {device: URL}."""
    urls = (task.node['instance_info']['boot_iso'], task.node['configdrive'])
    return dict(zip(_devices(task), urls, strict=False))


def _missing(task: base.Task, bmc: Bmc) -> list[str]:
    """Return the devices of the images that are in no medium of their own."""
    images = _images(task)
    media = virtual_media.inserted(bmc, images)
    usable = [[each for each in media if each.is_a(device) and each.shows(url)] for device, url in images.items()]
    # Each medium has one image. Of all ways to share them out, the one that most images have a medium in.
    ways = (way for way in itertools.product(*([*each, None] for each in usable)) if _is_shared_out(way))
    return [device for device, medium in zip(images, max(ways, key=_number), strict=True) if medium is None]


def _number(media: Iterable[Medium | None]) -> int:
    return sum(medium is not None for medium in media)


def _is_shared_out(media: Sequence[Medium | None]) -> bool:
    """Whether no two images have the same medium."""
    return len({medium for medium in media if medium}) == _number(media)


def _start(task: base.Task, bmc: Bmc) -> base.Done | base.Later:
    """Power the machine on, or restart it if it cannot be powered off, and let it boot from the virtual CD."""
    system, restarts = bmc.document(), task.node['disable_power_off']
    is_on = redfish_power.shown(system) == states.POWER_ON
    if task.phase < _PREPARED:
        if is_on and not restarts:
            raise base.WorkFailed('The machine was powered on during the deploy.')
        if not _is_turn(task):
            raise Failure('The boot is not prepared yet.')
        _prepare_boot(task, bmc)
        # A machine that is on from this phase on has booted the image. One that was on before has not.
        return base.Later(0, _PREPARED)
    starts, has_booted = text(system, 'PowerState') == 'PoweringOn', is_on and not restarts
    if _is_turn(task) and not has_booted and not starts:
        _prepare_boot(task, bmc)
        bmc.reset(*(('ForceRestart', 'PowerCycle') if is_on else ('On', 'ForceOn')))
        has_booted = restarts
    if starts or not has_booted:
        raise Failure('The machine does not power on.')
    return base.Done(power_state=states.POWER_ON, boot=boot_settings.shown(bmc, system))


def _prepare_boot(task: base.Task, bmc: Bmc) -> None:
    """Set the boot source, and secure boot if the instance asks for it."""
    virtual_media.boot_once(bmc, _boot_mode(task.node))
    if _is_secure(task.node):
        try:
            boot_settings.set_secure_boot(bmc, True)
        except Unknown as error:
            # It may show the new boot mode a moment later.
            raise Failure(str(error)) from None
    # A BMC that cannot read an image may show it as inserted for a moment.
    if _missing(task, bmc):
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
    """Return how often the step has looked at the BMC. The first phase of a deploy looks at the images."""
    return task.phase % _PREPARED - (task.step is not None and task.step['step'] == 'deploy')


def _is_turn(task: base.Task) -> bool:
    """Whether it is time to do what is left to do, and not only to look."""
    return _looks(task) % _TURN == 0


#: {step of a deploy, or action: how it is performed}.
_WORK = {
    'deploy.deploy': _stop,
    'deploy.prepare_instance_boot': _insert,
    'deploy.boot_instance': _start,
    'undeploy': _undeploy,
}
