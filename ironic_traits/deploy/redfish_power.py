"""The power state of machines with a BMC."""

import time
from collections.abc import Mapping
from typing import Any

from ironic_traits.deploy import base, states
from ironic_traits.redfish import boot_settings
from ironic_traits.redfish.bmcs import Bmc, Failure
from ironic_traits.redfish.trees import text

#: {target: (kinds of resets, the best first, of a machine that runs; of one that is off)}.
_RESETS = {
    states.POWER_ON: ((), ('On', 'ForceOn')),
    states.POWER_OFF: (('ForceOff',), ()),
    states.SOFT_POWER_OFF: (('GracefulShutdown',), ()),
    states.REBOOT: (('ForceRestart', 'PowerCycle'), ('On', 'ForceOn')),
    states.SOFT_REBOOT: (('GracefulRestart',), ('On', 'ForceOn')),
}
#: {PowerState: power state}. Others are not known. Only a machine that is "Off" does nothing.
_POWER = {
    'On': states.POWER_ON,
    'PoweringOn': states.POWER_ON,
    'PoweringOff': states.POWER_ON,
    'Off': states.POWER_OFF,
}
#: Seconds between two readings of a power state that is to change, and number of readings of one that is changing.
_INTERVAL, _CHANGES = 2, 5


def read(task: base.Task, bmc: Bmc) -> base.Done:
    """Return the power state, the boot mode and the secure boot."""
    system = bmc.document()
    state = shown(system)
    if state is None:
        raise Failure('The BMC does not show the power state.')
    return base.Done(power_state=state, boot=boot_settings.shown(bmc, system))


def change(task: base.Task, bmc: Bmc, target: str) -> base.Done | base.Later:
    """Change the power state in the first phase. In the others, wait until it has changed."""
    state, end = _settled(bmc), states.POWER_TARGETS[target]
    if task.phase == 0:
        running, off = _RESETS[target]
        kinds = {states.POWER_ON: running, states.POWER_OFF: off}.get(state or '', running + off)
        if kinds:
            bmc.reset(*kinds)
            return base.Later(_INTERVAL)
    return base.Done(power_state=state) if state == end else base.Later(_INTERVAL)


def _settled(bmc: Bmc) -> str | None:
    """Return the power state, after a change that is under way if that does not take long."""
    for _ in range(_CHANGES):
        document = bmc.document()
        if not text(document, 'PowerState').startswith('Powering'):
            break
        time.sleep(_INTERVAL)
    return shown(document)


def shown(document: Mapping[str, Any]) -> str | None:
    """Return the power state that the document of a System shows, one of ``states``; None if it is not known."""
    return _POWER.get(text(document, 'PowerState'))
