"""fake-hardware: a driver without hardware, with configurable delays and failures."""

from collections.abc import Collection
from typing import Any

from ironic_traits import masks
from ironic_traits.deploy import base, management, states
from ironic_traits.deploy.steps import Step, label

#: {action: power state after it}. Other actions do not change the power state.
_POWER_AFTER = {
    'deploy': states.POWER_ON,
    'rebuild': states.POWER_ON,
    'rescue': states.POWER_ON,
    'unrescue': states.POWER_ON,
    'undeploy': states.POWER_OFF,
    'clean': states.POWER_OFF,
}


#: Steps of both clean and service.
_SETTINGS = (
    Step(
        'bios',
        'apply_configuration',
        {'settings': 'List of BIOS settings, each item needs to contain a dictionary with name/value pairs'},
        ('settings',),
    ),
    Step(
        'firmware',
        'update',
        {'settings': 'List of Firmware components, each item needs to contain a dictionary with name/value pairs'},
        ('settings',),
    ),
    Step('bios', 'cache_bios_settings'),
    Step('bios', 'factory_reset'),
)
_IPMI_DEVICES = ['pxe', 'disk', 'cdrom', 'bios', 'safe']
_REDFISH_DEVICES = ['pxe', 'disk', 'cdrom', 'bios', 'uefihttp']
#: {management interface: its boot devices in Ironic 39}.
_BOOT_DEVICES = {
    'fake': ['pxe'],
    'noop': ['pxe', 'disk'],
    'ipmitool': _IPMI_DEVICES,
    'intel-ipmitool': _IPMI_DEVICES,
    'redfish': _REDFISH_DEVICES,
    'idrac-redfish': _REDFISH_DEVICES,
}
#: Those of Ironic 39.
_INDICATORS = {
    'chassis': {'led-0': {'readonly': True, 'states': ['off', 'on']}},
    'system': {'led': {'readonly': False, 'states': ['blinking', 'off', 'on']}},
}
_MEDIA_TYPES = {'disk': ['USBStick'], 'cdrom': ['CD', 'DVD'], 'floppy': ['Floppy']}
#: The keys of ``driver_internal_info`` with the state of an indicator, and with the URL of the image of a device.
_INDICATOR, _IMAGE = 'indicator_{}@{}', 'virtual_media_{}'
#: Seconds between two calls for a step that never ends.
_ENDLESS = 3600


class FakeHardware(base.Driver):
    """A driver that accepts all actions and does nothing."""

    simulates = True
    interfaces = {
        'bios': ('fake', 'no-bios'),
        'boot': ('fake',),
        'console': ('fake', 'no-console', 'fake-graphical'),
        'deploy': ('fake',),
        'firmware': ('fake', 'no-firmware'),
        'inspect': ('fake', 'agent', 'no-inspect'),
        'management': ('fake',),
        'network': ('noop',),
        'power': ('fake',),
        'raid': ('fake', 'no-raid'),
        'rescue': ('fake', 'no-rescue'),
        'storage': ('noop', 'fake'),
        'vendor': ('fake', 'no-vendor'),
    }
    properties = {
        'fake_delays': 'Seconds that actions, or steps of them, take on this node, as {"deploy": 5, '
        '"bios.factory_reset": 20}. Overrides [fake_hardware] delays.',
        'fake_failures': 'Actions, or steps of them, that fail on this node, as ["deploy", "bios.factory_reset"]. '
        'Overrides [fake_hardware] failures.',
    }
    steps = {
        'deploy': (Step('deploy', 'deploy', priority=100),),
        'clean': (*_SETTINGS, Step('vendor', 'log_passthrough', priority=1)),
        'service': (
            *_SETTINGS,
            Step('vendor', 'log_passthrough', requires_ramdisk=False),
            Step('vendor', 'trigger_servicewait'),
        ),
    }

    def work(self, task: base.Task) -> base.Done | base.Later:
        """See ``base.Driver``."""
        delay = self._delay(task)
        if delay > 0 and task.phase == 0:
            return base.Later(delay)
        failures = self._setting(task, 'failures')
        for name in _names(task):
            if name in failures:
                raise base.WorkFailed(f'fake-hardware is configured to fail "{name}".')
        if task.step and task.step['step'] == 'trigger_servicewait':
            return base.Later(_ENDLESS)
        if task.action == 'inspect' and task.node['inspect_interface'] == 'agent':
            return self._inspect(task)
        if task.action == 'power':
            return base.Done(power_state=states.POWER_TARGETS[task.arguments['target']])
        after = _POWER_AFTER.get(task.action)
        if after == states.POWER_OFF and task.node['disable_power_off']:
            after = None
        return base.Done(power_state=after or task.node['power_state'] or states.POWER_OFF)

    def boot_devices(self, node: dict[str, Any]) -> list[str]:
        """See ``base.Driver``."""
        return _BOOT_DEVICES.get(node['management_interface'], ['pxe'])

    def boot_device(self, node: dict[str, Any]) -> dict[str, Any]:
        """Return the boot device that was set last."""
        kept = node['driver_internal_info'].get(management.BOOT_DEVICE)
        return kept or {'boot_device': 'pxe', 'persistent': False}

    def set_boot_device(self, node: dict[str, Any], device: str, persistent: bool) -> management.Kept:
        """Keep a boot device."""
        return {management.BOOT_DEVICE: {'boot_device': device, 'persistent': persistent}}

    def set_boot_mode(self, node: dict[str, Any], mode: str) -> None:
        """Accept a boot mode."""

    def set_secure_boot(self, node: dict[str, Any], enabled: bool) -> None:
        """Accept secure boot."""

    def inject_nmi(self, node: dict[str, Any]) -> None:
        """Accept an interrupt."""

    def indicators(self, node: dict[str, Any], component: str | None = None) -> management.Indicators:
        """See ``Management``."""
        return {name: _INDICATORS[name] for name in _INDICATORS if component in (None, name)}

    def indicator(self, node: dict[str, Any], component: str, name: str) -> str:
        """Return the state that was set last."""
        management.check_indicator(_INDICATORS, component, name)
        return str(node['driver_internal_info'].get(_INDICATOR.format(name, component), 'on'))

    def set_indicator(self, node: dict[str, Any], component: str, name: str, state: str) -> management.Kept:
        """Keep the state of an indicator."""
        management.check_indicator(_INDICATORS, component, name, state)
        return {_INDICATOR.format(name, component): state}

    def media(self, node: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the images that were attached."""
        images = {device: node['driver_internal_info'].get(_IMAGE.format(device)) for device in management.MEDIA}
        return [
            {'media_types': _MEDIA_TYPES[device], 'inserted': image is not None, 'image': image}
            for device, image in images.items()
        ]

    def attach_media(self, node: dict[str, Any], device: str, url: str) -> management.Kept:
        """Keep the URL of an image, without its secrets: the readers of the node see it."""
        return {_IMAGE.format(device): masks.url(url)}

    def detach_media(self, node: dict[str, Any], devices: Collection[str]) -> management.Kept:
        """Forget images."""
        return dict.fromkeys(map(_IMAGE.format, devices))

    def _inspect(self, task: base.Task) -> base.Done | base.Later:
        """Wait for the data of a ramdisk, and then power the node off, as Ironic's interface "agent" does."""
        if base.DATA_RECEIVED not in task.arguments:
            return base.Later(_ENDLESS)
        return base.Done(power_state=None if task.node['disable_power_off'] else states.POWER_OFF)

    def _delay(self, task: base.Task) -> float:
        try:
            delays = self._setting(task, 'delays')
            return next((float(delays[name]) for name in _names(task) if delays.get(name) is not None), 0)
        except (AttributeError, TypeError, ValueError) as error:
            raise base.WorkFailed(f'fake_delays is not an object of action names and seconds: {error}') from error

    def _setting(self, task: base.Task, option: str) -> Any:
        value = task.node['driver_info'].get(f'fake_{option}')
        return self.conf.fake_hardware[option] if value is None else value


def _names(task: base.Task) -> list[str]:
    """Return the names of a task in delays and failures: the name of its step, then the name of its action."""
    return [label(task.step), task.action] if task.step else [task.action]
