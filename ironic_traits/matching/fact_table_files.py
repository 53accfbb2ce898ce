"""Tables in the packages: what follows from facts."""

import functools
import importlib.resources
from typing import Any

import yaml


@functools.cache
def packaged(package: str, path: str) -> Any:
    """Return a YAML document that ships in a package."""
    return yaml.safe_load(importlib.resources.files(package).joinpath(path).read_text('utf-8'))


def table(name: str) -> Any:
    """Return a table of traits."""
    return packaged('ironic_traits.matching', f'fact_tables/{name}.yaml')
