"""Machines for ironic-traits-manage rules check: what a BMC shows, and what directories of Redfish documents show."""

import os
import pathlib
from collections.abc import Iterator
from typing import Any

from ironic_traits import extras
from ironic_traits.redfish import inspections
from ironic_traits.redfish.inspections import Inspection
from ironic_traits.redfish.trees import DirectoryTree, Tree, Unreadable

_PASSWORD = 'REDFISH_PASSWORD'  # noqa: S105, it is a name


def read(conf: Any, problems: list[str]) -> Iterator[tuple[str, Inspection]]:
    """Generate (label, facts) of each machine that --redfish and --redfish-tree name."""
    machines = conf.command.redfish_urls or conf.command.redfish_trees
    if machines and (sentence := extras.missing('redfish', 'archspec', 'sushy')):
        problems.append(sentence)
        return
    for url in conf.command.redfish_urls:
        # A URL with a password is refused, but must not be printed.
        label = url.rpartition('@')[2]
        try:
            yield from _of_bmc(conf, url, label)
        except (Unreadable, ValueError) as error:
            problems.append(f'{label}: {error}')
    for path in conf.command.redfish_trees:
        try:
            if not pathlib.Path(path).is_dir():
                raise Unreadable('There is no such directory.')
            yield from _machines(DirectoryTree(pathlib.Path(path)), conf.command.system, path)
        except (Unreadable, OSError) as error:
            problems.append(f'{path}: {error}')


def _of_bmc(conf: Any, url: str, label: str) -> Iterator[tuple[str, Inspection]]:
    from ironic_traits.redfish import bmcs, discovery

    command, options = conf.command, conf.redfish
    if command.redfish_user and _PASSWORD not in os.environ:
        raise ValueError(f'Set the password of {command.redfish_user} in the environment variable {_PASSWORD}.')
    driver_info = {
        'redfish_address': url,
        'redfish_username': command.redfish_user,
        'redfish_password': os.environ.get(_PASSWORD),
        'redfish_verify_ca': not command.insecure,
        'redfish_system_id': command.system,
    }
    try:
        with discovery.connect(bmcs.access(driver_info), options.timeout, options.system_timeout) as bmc:
            yield from _machines(bmc, command.system, label)
    except bmcs.Failure as error:
        raise ValueError(str(error)) from None


def _machines(tree: Tree, system: str | None, label: str) -> Iterator[tuple[str, Inspection]]:
    for path in [system] if system else inspections.machine_paths(tree):
        yield f'{label} {path}', inspections.inspect(tree, path)
