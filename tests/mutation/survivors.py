"""The mutants that no test can notice, with the reasons: survivors.yaml."""

import functools
import pathlib

import yaml

_PATH = pathlib.Path(__file__).with_name('survivors.yaml')


def key(mutant):
    """Return what identifies a mutant in the list."""
    return mutant.module, mutant.function, mutant.change


@functools.cache
def listed():
    """Return the keys of the mutants in the list: {key: reason}."""
    return {
        (f'ironic_traits/{each["module"]}', each.get('function', ''), each['change'].strip()): group['reason']
        for group in yaml.safe_load(_PATH.read_text()) or ()
        for each in group['mutants']
    }
