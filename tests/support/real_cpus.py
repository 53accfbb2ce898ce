"""Inspection data of real machines: processors from archspec, and lscpu and HP samples from hardware."""

import pathlib
import re

import archspec
import hardware

from tests.support import syntax

TARGETS = pathlib.Path(archspec.__file__).parent / 'json' / 'tests' / 'targets'
SAMPLES = pathlib.Path(hardware.__file__).parent / 'tests' / 'samples'
CARDIFF = pathlib.Path(hardware.__file__).parent / 'tests' / 'cardiff_samples'
LSCPU = ('lscpu', 'lscpu-7302', 'lscpu-vm', 'lscpu-vmx', 'lscpu_aarch64', 'lscpu_ppc64le')


def archspec_cpus():
    """Return {name: inspection data} of the processors whose /proc/cpuinfo archspec has."""
    return {path.name: _document(path.read_text()) for path in sorted(TARGETS.glob('linux-*'))}


def lscpu_samples():
    """Return {name: inspection data} of the lscpu output of some machines."""
    return {name: _document((SAMPLES / name).read_text()) for name in LSCPU}


def hp_samples():
    """Return {serial number: inspection data} of servers, from the extra-hardware collector."""
    paths = sorted(CARDIFF.glob('*.hw_'))
    rows = syntax.literals(path.read_text() for path in paths)
    return {
        path.name.split('-')[2][:10]: {'inventory': {}, 'plugin_data': {'data': [list(row) for row in rows]}}
        for path, rows in zip(paths, rows, strict=True)
    }


def _document(text):
    """Return the data that the ramdisk would send of a processor."""
    model = _field(text, 'model name') or _field(text, 'cpu')
    flags = (_field(text, 'flags') or _field(text, 'features') or '').split()
    return {'inventory': {'cpu': {'architecture': _architecture(text), 'model_name': model or '', 'flags': flags}}}


def _architecture(text):
    """Return the machine name of uname -m, as the field names of /proc/cpuinfo show it."""
    if stated := _field(text, 'architecture'):
        return stated
    fields = {'flags': 'x86_64', 'CPU implementer': 'aarch64', 'cpu': 'ppc64le', 'isa': 'riscv64'}
    return next(name for field, name in fields.items() if re.search(rf'^{field}\s*:', text, re.MULTILINE))


def _field(text, name):
    found = re.search(rf'^{name}\s*:[ \t]*(.*)$', text, re.MULTILINE | re.IGNORECASE)
    return found and found[1].strip()
