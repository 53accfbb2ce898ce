"""The maps that rules can name: functions from the facts of a node to traits."""

from collections.abc import Callable, Mapping

from ironic_traits.matching import bmc_facts, facts
from ironic_traits.matching.facts import MappedTraits, NodeFacts

#: {name of a map: function that returns its MappedTraits for a node}.
MAPS: Mapping[str, Callable[[NodeFacts], MappedTraits]] = {
    'cpu-flags': facts.cpu_flags,
    'architecture': facts.architecture,
    'disks': facts.disks,
    'nics': facts.nics,
    'firmware': facts.firmware,
    'pci': facts.pci,
    'cpu-model': bmc_facts.cpu_model,
    'firmware-settings': bmc_facts.firmware_settings,
    'disk-protocols': bmc_facts.disk_protocols,
    'accelerators': bmc_facts.accelerators,
    'cpu-vendor': bmc_facts.cpu_vendor,
    'cpu-microarchitecture': bmc_facts.cpu_microarchitecture,
    'nic-models': bmc_facts.nic_models,
    'nic-speeds': bmc_facts.nic_speeds,
}
