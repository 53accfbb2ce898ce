"""Trees of Redfish documents: those that tests write, and a table of what is known about the machines in directories.

``python -m tests.support.redfish_trees DIRECTORY`` prints the table, as the guide has it.
"""

import dataclasses
import itertools
import pathlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ironic_traits.matching.rules import inspection_rules, rule_evaluation
from ironic_traits.redfish import inspections, machines
from ironic_traits.redfish.inspections import Inspection
from ironic_traits.redfish.trees import DirectoryTree, Reader, Unreadable

V1 = '/redfish/v1'


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


@dataclasses.dataclass
class Row:
    """What is known about a System of a tree."""

    tree: str
    system: str
    machine: str
    processor: str
    microarchitecture: str
    architecture: str
    gpus: int
    disks: int
    nics: int
    adapters: int
    tpm: str
    boot_mode: str
    traits: list[str]


def rows(directory: pathlib.Path) -> Iterator[Row | tuple[str, str]]:
    """Yield a row for each System of the trees in a directory; for a tree without Systems its name and the problem."""
    for tree in sorted(path for path in directory.iterdir() if path.is_dir()):
        documents = DirectoryTree(tree)
        try:
            paths = list(machines.systems(Reader(documents)))
        except Unreadable as error:
            yield tree.name, str(error)
            continue
        for path in sorted(paths):
            yield _row(tree.name, path.rpartition('/')[2], inspections.inspect(documents, path))


def _row(tree: str, system: str, inspection: Inspection) -> Row:
    inventory, redfish = inspection.inventory, inspection.plugin_data['redfish']
    vendor, cpu, tpm = (
        each or {} for each in (inventory.get('system_vendor'), inventory.get('cpu'), redfish.get('tpm'))
    )
    return Row(
        tree,
        system,
        ' '.join(vendor[key] for key in ('manufacturer', 'product_name') if key in vendor),
        cpu.get('model_name', ''),
        redfish.get('cpu', {}).get('microarchitecture', ''),
        cpu.get('architecture', ''),
        gpus(inspection),
        len(inventory.get('disks', ())),
        len(inventory.get('interfaces', ())),
        len(redfish.get('adapters', ())),
        tpm.get('version', '') if tpm.get('present') else 'none' if tpm else '',
        inventory.get('boot', {}).get('current_boot_mode', ''),
        traits(inspection),
    )


def rst_table(found: Iterable[Row | tuple[str, str]]) -> str:
    """Return the table of the guide: a row for each tree, or for each kind of System in it."""
    lines = ['.. csv-table::', '   :header: tree, machine, CPU, arch., GPUs, disks, NICs, TPM, boot, traits', '']
    known = [row for row in found if isinstance(row, Row)]
    for _, group in itertools.groupby(
        known, lambda row: (row.tree, row.machine, row.microarchitecture, row.gpus, row.disks)
    ):
        row = next(group)
        values = (
            row.tree,
            row.machine or '-',
            row.microarchitecture or '-',
            row.architecture or '-',
            row.gpus,
            row.disks,
            max(row.nics, row.adapters),
            row.tpm or '-',
            row.boot_mode or '-',
            len(row.traits),
        )
        lines.append(f'   {", ".join(str(value).replace(",", "") for value in values)}')
    return '\n'.join(lines) + '\n'


if __name__ == '__main__':
    print(rst_table(rows(pathlib.Path(sys.argv[1]))))
