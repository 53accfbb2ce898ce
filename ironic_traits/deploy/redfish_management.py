"""redfish: what the driver does in requests."""

import contextlib
import time
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ironic_traits.deploy import base
from ironic_traits.deploy.management import Indicators, check_indicator
from ironic_traits.redfish import bmcs, boot_settings, indicators, virtual_media
from ironic_traits.redfish.bmcs import Bmc, Failure, Unknown
from ironic_traits.redfish.trees import Unreadable, inner, text

#: {source of Redfish: boot device of Ironic}. Of several sources of a device, the first is set.
_DEVICES = {
    'Pxe': 'pxe',
    'Hdd': 'disk',
    'Cd': 'cdrom',
    'UsbCd': 'cdrom',
    'BiosSetup': 'bios',
    'UefiHttp': 'uefihttp',
}
#: Number of looks at media that are to be ejected, and seconds between them.
_LOOKS, _INTERVAL = 5, 1
_PERSISTENT = {'Once': False, 'Continuous': True}


class RedfishManagement(base.Driver):
    """The part of the driver ``redfish`` that requests call. Changes of the boot take effect when it boots again."""

    def boot_devices(self, node: Mapping[str, Any]) -> list[str]:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            known = bmc.boot_sources()
        return list(dict.fromkeys(name for source, name in _DEVICES.items() if source in known))

    def boot_device(self, node: Mapping[str, Any]) -> dict[str, Any]:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            boot = inner(bmc.document(), 'Boot')
        enabled = text(boot, 'BootSourceOverrideEnabled')
        if enabled not in _PERSISTENT:
            return {'boot_device': None, 'persistent': None}
        source = _DEVICES.get(text(boot, 'BootSourceOverrideTarget'))
        return {'boot_device': source, 'persistent': _PERSISTENT[enabled]}

    def set_boot_device(self, node: Mapping[str, Any], device: str, persistent: bool) -> None:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            known = bmc.boot_sources()
            usable = [source for source, name in _DEVICES.items() if name == device and source in known]
            if not usable:
                raise Failure(f'The BMC cannot boot from "{device}".')
            bmc.set_boot_source(usable[0], 'Continuous' if persistent else 'Once')

    def set_boot_mode(self, node: Mapping[str, Any], mode: str) -> None:
        """See ``Management``."""
        with self._asked(node) as bmc:
            boot_settings.set_mode(bmc, mode)

    def set_secure_boot(self, node: Mapping[str, Any], enabled: bool) -> None:
        """See ``Management``."""
        with self._asked(node) as bmc:
            boot_settings.set_secure_boot(bmc, enabled)

    def inject_nmi(self, node: Mapping[str, Any]) -> None:
        """See ``Management``."""
        with self._asked(node) as bmc:
            bmc.reset('Nmi')

    def indicators(self, node: Mapping[str, Any], component: str | None = None) -> Indicators:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            return _described(indicators.listed(bmc, component))

    def indicator(self, node: Mapping[str, Any], component: str, name: str) -> str:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            found = indicators.listed(bmc, component)
        check_indicator(_described(found), component, name)
        return found[component][name].state

    def set_indicator(self, node: Mapping[str, Any], component: str, name: str, state: str) -> None:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            found = indicators.listed(bmc, component)
            check_indicator(_described(found), component, name, state)
            chosen = found[component][name]
            bmc.patch(chosen.path, {chosen.name: chosen.values[state]})

    def media(self, node: Mapping[str, Any]) -> list[dict[str, Any]]:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            media = virtual_media.listed(bmc)
        return [{'media_types': list(each.kinds), 'inserted': each.inserted, 'image': each.image} for each in media]

    def attach_media(self, node: Mapping[str, Any], device: str, url: str) -> None:
        """See ``Management``."""
        with self._asked(node) as bmc:
            virtual_media.insert(bmc, device, url)

    def detach_media(self, node: Mapping[str, Any], devices: Collection[str]) -> None:
        """See ``Management``."""
        with self._bmc(node) as bmc:
            virtual_media.eject(bmc, devices)
            for _ in range(_LOOKS):
                if not virtual_media.inserted(bmc, devices):
                    return
                time.sleep(_INTERVAL)
            raise Failure('The BMC does not eject the image of a virtual medium.')

    @contextlib.contextmanager
    def _asked(self, node: Mapping[str, Any]) -> Iterator[Bmc]:
        """Do the same as ``_bmc``. What the BMC does not know is the fault of the request."""
        with self._bmc(node) as bmc:
            try:
                yield bmc
            except Unknown as error:
                raise base.WorkRefused(str(error)) from None

    def _connect(self, node: Mapping[str, Any]) -> contextlib.AbstractContextManager[Bmc]:
        """Log in to the BMC of a node."""
        options = self.conf.redfish
        limits = (options.timeout, options.system_timeout, options.allow_local_addresses)
        return bmcs.connect(bmcs.access(node['driver_info']), *limits)

    @contextlib.contextmanager
    def _bmc(self, node: Mapping[str, Any]) -> Iterator[Bmc]:
        """Log in to the BMC of a node. Turn its failures into those of drivers."""
        try:
            with self._connect(node) as bmc:
                yield bmc
        except (Failure, Unreadable) as error:
            raise base.WorkFailed(str(error)) from None


def _described(found: Mapping[str, Mapping[str, indicators.Indicator]]) -> Indicators:
    return {
        component: {name: {'readonly': False, 'states': sorted(each.values)} for name, each in names.items()}
        for component, names in found.items()
    }
