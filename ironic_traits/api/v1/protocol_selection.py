"""Which of both APIs a path is of. The paths of Placement have a prefix, unless it is the only API of the process."""

from collections.abc import Callable

from oslo_config import cfg

from ironic_traits.api.placement.protocol import PLACEMENT
from ironic_traits.api.protocol import Protocol
from ironic_traits.api.v1.protocol import BARE_METAL


def protocol(conf: cfg.ConfigOpts, path: str) -> Protocol:
    """Return the Protocol of a path."""
    return selector(conf.api.serve)(path)


def selector(serve: str) -> Callable[[str], Protocol]:
    """Return the function from a path to its Protocol.

    :param serve: the option [api] serve.
    """
    if serve == 'placement':
        return lambda path: PLACEMENT
    prefix = f'{PLACEMENT.prefix}/'
    return lambda path: PLACEMENT if f'{path}/'.startswith(prefix) else BARE_METAL
