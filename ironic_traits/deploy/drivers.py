"""The enabled drivers, and the interfaces of nodes."""

from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint
from typing import Any, NoReturn

import stevedore
from oslo_config import cfg

from ironic_traits import extras, failures
from ironic_traits.deploy.base import Driver
from ironic_traits.deploy.simulated_hardware import INTERFACES, SimulatedHardware

NAMESPACE = 'ironic_traits.deploy.drivers'


def load(conf: cfg.ConfigOpts) -> dict[str, Driver]:
    """Load the enabled drivers.

    :param conf: the configuration, with the names of the drivers in [deploy] enabled_hardware_types and
        simulated_hardware_types.
    :returns: the drivers by name.
    :raises oslo_config.cfg.Error: a driver is not installed, or cannot be imported, or a name cannot be simulated.
    """
    simulated = _simulated(conf)
    names = conf.deploy.enabled_hardware_types
    if 'redfish' in names and (problem := extras.missing('redfish', 'sushy', 'archspec', 'pycdlib')):
        raise cfg.Error(f'[deploy] enabled_hardware_types: redfish cannot be used: {problem}')
    manager: stevedore.NamedExtensionManager[Any] = stevedore.NamedExtensionManager(
        NAMESPACE,
        names,
        invoke_on_load=True,
        invoke_args=(conf,),
        on_missing_entrypoints_callback=_missing,
        on_load_failure_callback=_broken,
    )
    real: dict[str, Any] = {extension.name: extension.obj for extension in manager}
    return real | simulated


def _simulated(conf: cfg.ConfigOpts) -> dict[str, Driver]:
    option, names = '[deploy] simulated_hardware_types', conf.deploy.simulated_hardware_types
    unknown, twice = set(names).difference(INTERFACES), set(names).intersection(conf.deploy.enabled_hardware_types)
    if unknown:
        raise cfg.Error(f'{option}: not known: {", ".join(sorted(unknown))}. Known are: {", ".join(INTERFACES)}')
    if twice:
        raise cfg.Error(
            f'{option}: {", ".join(sorted(twice))} is also in enabled_hardware_types. A hardware type is either real '
            'or simulated: remove it from one of the two'
        )
    return {name: SimulatedHardware(conf, name) for name in names}


def _missing(names: Iterable[str]) -> NoReturn:
    raise cfg.Error(f'[deploy] enabled_hardware_types: not installed: {", ".join(sorted(names))}')


def _broken(manager: stevedore.ExtensionManager[Any], entry_point: EntryPoint, error: BaseException) -> NoReturn:
    raise cfg.Error(f'[deploy] enabled_hardware_types: {entry_point.name} cannot be loaded: {error}') from error


def interfaces(drivers: Mapping[str, Driver], driver: str, requested: Mapping[str, str | None]) -> dict[str, str]:
    """Choose the interfaces of a node.

    :param drivers: the result of ``load``.
    :param driver: name of the node's driver.
    :param requested: {'boot': 'fake', …}. Interfaces that are missing or None get the driver's default.
    :returns: {'boot_interface': 'fake', …}, with all interfaces.
    :raises failures.InvalidInput: the driver is not enabled, or does not have a requested implementation.
    """
    if driver not in drivers:
        raise failures.InvalidInput(
            reason=f"No valid host was found. Reason: the driver '{driver}' is not enabled here; "
            f'enabled are: {", ".join(sorted(drivers))}.'
        )
    chosen = {}
    for interface, valid in drivers[driver].interfaces.items():
        name = requested.get(interface) or valid[0]
        if name not in valid:
            raise failures.InvalidInput(
                reason=f"The driver '{driver}' has no {interface} interface '{name}'. Valid are: {', '.join(valid)}."
            )
        chosen[f'{interface}_interface'] = name
    return chosen
