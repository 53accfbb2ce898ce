"""The tables of ``fact_tables``: what follows from facts."""

import functools
import importlib.resources
from typing import Any

import yaml


@functools.cache
def table(name: str) -> Any:
    """Return a table of the package."""
    text = importlib.resources.files('ironic_traits.matching').joinpath(f'fact_tables/{name}.yaml').read_text('utf-8')
    return yaml.safe_load(text)
