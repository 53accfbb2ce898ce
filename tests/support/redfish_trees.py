"""Trees of Redfish documents: those that tests write, and a table of what is known about the machines in directories.

``python -m tests.support.redfish_trees DIRECTORY`` prints a row for each System below the directory.
"""

import pathlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits.matching.rules import inspection_rules, rule_evaluation
from ironic_traits.redfish import inspections
from ironic_traits.redfish.inspections import Inspection
from ironic_traits.redfish.trees import DirectoryTree, Unreadable

V1 = '/redfish/v1'
_MEDIA = {True: 'HDD', False: 'SSD', None: 'unknown'}


class Documents(dict[str, Any]):
    """A tree: {path below /redfish/v1: document}."""

    def get(self, path: str) -> Mapping[str, Any]:  # type: ignore[override]
        """Return the document of a path."""
        try:
            return self[path.removeprefix(V1)]  # type: ignore[no-any-return]
        except KeyError:
            raise Unreadable(f'There is no document {path!r}.') from None


def to(path: str) -> dict[str, str]:
    """Return a link."""
    return {'@odata.id': V1 + path}


def collection(path: str, **members: Any) -> dict[str, Any]:
    """Return a collection and its members, as parts of a tree."""
    return {path: {'Members': [to(f'{path}/{name}') for name in members]}} | {
        f'{path}/{name}': {'Id': name} | member for name, member in members.items()
    }


def traits(inspection: Inspection) -> list[str]:
    """Return the traits that the standard rules give."""
    facts = rule_evaluation.facts_of(inspection.document)
    return sorted(rule_evaluation.evaluate(inspection_rules.standard(), facts).traits)


def gpus(inspection: Inspection) -> int:
    """Return the number of GPUs: processors, or devices that are not the BMC's."""
    redfish, devices = inspection.plugin_data['redfish'], inspection.plugin_data.get('pci_devices', ())
    processors = sum(each['type'] == 'GPU' for each in redfish.get('accelerators', ()))
    shown = [each for each in devices if each['class'].startswith(('DisplayC', 'ProcessingA', '03', '12'))]
    return max(processors, sum(each['vendor_id'] not in ('102b', '1a03') for each in shown))


def rows(directory: pathlib.Path) -> Iterator[tuple[Any, ...]]:
    """Yield what is known about each System of the trees in a directory."""
    for tree in sorted(path for path in directory.iterdir() if path.is_dir()):
        documents = DirectoryTree(tree)
        try:
            paths = inspections.systems(documents)
        except Unreadable as error:
            yield tree.name, str(error)
            continue
        for path in paths:
            yield (tree.name, path.rpartition('/')[2], *_row(inspections.inspect(documents, path)))


def _row(inspection: Inspection) -> tuple[Any, ...]:
    inventory, redfish = inspection.inventory, inspection.plugin_data['redfish']
    vendor, cpu, disks = (inventory.get(name) or {} for name in ('system_vendor', 'cpu', 'disks'))
    return (
        vendor.get('manufacturer'),
        vendor.get('product_name'),
        cpu.get('model_name'),
        redfish.get('cpu', {}).get('microarchitecture'),
        cpu.get('architecture'),
        gpus(inspection),
        len(disks),
        '/'.join(sorted({_MEDIA[disk.get('rotational')] for disk in disks})),
        len(inventory.get('interfaces', ())),
        redfish.get('tpm', {}).get('version', redfish.get('tpm', {}).get('present')),
        redfish.get('secure_boot'),
        inventory.get('boot', {}).get('current_boot_mode'),
        len(traits(inspection)),
    )


if __name__ == '__main__':
    for row in rows(pathlib.Path(sys.argv[1])):
        print(' | '.join(map(str, row)))
