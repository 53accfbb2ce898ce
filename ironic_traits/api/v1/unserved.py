"""The parts of Ironic's API that this service does not have.

At every version, the response is 404, with a message that says so.
"""

from ironic_traits import failures

#: Below /v1, below a node, below the states of a node, and below a driver.
_TOP = frozenset({'events', 'heartbeat', 'lookup'})
_NODE = frozenset({'bios', 'firmware', 'management', 'vendor_passthru', 'vmedia'})
_STATES = frozenset({'boot_mode', 'console', 'raid', 'secure_boot'})
_DRIVER = frozenset({'raid', 'vendor_passthru'})


def check(segments, served):
    """Raise NotImplementedHere if a path leads to a part of Ironic's API that this service does not have.

    :param segments: the segments of a path without a route, the first of which is v1.
    :param served: the segments below /v1 that have routes.
    :raises failures.NotImplementedHere: it does.
    """
    match segments:
        case [_, top, *_] if top in _TOP.difference(served):
            length = 2
        case [_, 'nodes', _, below, *_] if below in _NODE:
            length = 4
        case [_, 'nodes', _, 'states', below, *_] if below in _STATES:
            length = 5
        case [_, 'drivers', _, below, *_] if below in _DRIVER:
            length = 4
        case _:
            return
    raise failures.NotImplementedHere(path=f'/{"/".join(segments[:length])}')
