"""The interface of a driver, a class that an entry point of ``ironic_traits.deploy.drivers`` refers to."""

import abc
import dataclasses
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from ironic_traits.deploy.management import Management, WorkFailed
from ironic_traits.deploy.management import WorkRefused as WorkRefused

#: The argument of the action "inspect" with the time when a ramdisk has sent the data. Before that, it is missing.
DATA_RECEIVED = 'data_received_at'


@dataclasses.dataclass(frozen=True)
class Later:
    """The result of an unfinished action: the driver is to be called again.

    :ivar seconds: number of seconds to wait before that call.
    :ivar phase: the phase of that call; None for the next one.
    """

    seconds: float
    phase: int | None = None


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a driver has read from a BMC. It knows only a part of what a ramdisk finds.

    :ivar document: {'inventory': {…}, 'plugin_data': {'redfish': {…}, …}}.
    :ivar unread: {part: why it could not be read}. These facts are unknown, not gone.
    :ivar unknown: where the facts of these parts have their places: ``inventory.cpu``, ``plugin_data.redfish.bios``.
    """

    document: dict[str, Any]
    unread: dict[str, str] = dataclasses.field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Done:
    """The result of a finished action.

    :ivar power_state: the node's new power state; None if it did not change.
    :ivar properties: facts about the hardware, which are merged into the node's ``properties``.
    :ivar boot: ``boot_mode`` (uefi, bios) and ``secure_boot`` (bool), as the hardware shows them. None is for what it
        does not know. What could not be read is missing.
    :ivar facts: the result of the actions "inspect" and "refresh" of a driver that reads a BMC.
    """

    power_state: str | None = None
    properties: dict[str, Any] = dataclasses.field(default_factory=dict)
    boot: dict[str, Any] = dataclasses.field(default_factory=dict)
    facts: Facts | None = None


@dataclasses.dataclass(frozen=True)
class Observed:
    """What a BMC shows of its machine at the moment.

    :ivar power_state: one of ``states``; None if it is not known.
    :ivar health: ``OK``, ``Warning`` or ``Critical``; None if it is not known.
    """

    power_state: str | None
    health: str | None


@dataclasses.dataclass(frozen=True)
class Task:
    """One action on one node.

    :ivar action: one of ``states.ACTIONS``; or ``refresh``, which reads a BMC and changes nothing.
    :ivar phase: how often the driver has returned Later for this action or step, or what it has returned with it.
    :ivar arguments: the client's arguments: ``target`` of power; ``clean_steps``, ``deploy_steps``,
        ``service_steps``, ``disable_ramdisk``, ``rescue_password``; and DATA_RECEIVED.
    :ivar node: the node's columns by name, and ``traits``, a sorted list.
    :ivar step: the step of the action: {'interface': …, 'step': its name, 'args': {…}, 'priority': …}; None if the
        driver performs the action as a whole.
    """

    action: str
    phase: int
    arguments: dict[str, Any]
    node: dict[str, Any]
    step: dict[str, Any] | None = None


class Driver(Management, abc.ABC):
    """A driver performs actions on nodes. ``Management`` has what it does in requests.

    :cvar interfaces: {one of ``resources.nodes.INTERFACES``: implementations that a node can use, the default first}.
    :cvar properties: {driver_info key that the driver reads: its description}.
    :cvar steps: {kind of steps ('deploy', 'clean', 'service'): ironic_traits.deploy.steps.Step of each step}. If the
        kind of an action (deploy is also the kind of a rebuild) is here, ``work`` is called for each step. Otherwise it
        is called for the whole action.
    :cvar simulates: whether it only pretends to have hardware.
    :cvar runs_ramdisk: whether nodes may have more deploy steps than ``steps``, in a deploy ramdisk.
    :cvar core_deploy_steps: (interface, step) of each deploy step that clients can disable, but not replace.
    :cvar refreshable: the inspect interfaces that read a BMC, in any state, for the action "refresh".
    :cvar watches: whether ``observe`` returns what a BMC shows.
    """

    interfaces: dict[str, tuple[str, ...]]
    properties: dict[str, str] = {}
    steps: dict[str, tuple[Any, ...]] = {}
    simulates = False
    runs_ramdisk = True
    core_deploy_steps: frozenset[tuple[str, str]] = frozenset({('deploy', 'deploy')})
    refreshable: frozenset[str] = frozenset()
    watches = False

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self.conf = conf

    @abc.abstractmethod
    def work(self, task: Task) -> Done | Later:
        """Perform an action or a step, or a phase of it.

        Threads call it for several nodes at a time, so it must not store the data of a task in the driver itself. A
        call may take [deploy] lease_seconds. After that, the action fails, and the result of the call is ignored. If a
        worker dies, another one calls again with the same step and phase. Therefore each phase must be idempotent.
        Deploy steps need not be among ``steps`` if ``runs_ramdisk``: clients and deploy templates may name other steps.

        :returns: Done, or Later to be called again.
        :raises WorkFailed: the action has failed.
        """

    def validate(self, node: Mapping[str, Any]) -> dict[str, str]:
        """Return {interface: what a node lacks for it}. This runs in requests: it must not ask the BMC.

        :param node: as for ``Task``.
        """
        return {}

    def observe(self, node: Mapping[str, Any]) -> Observed:
        """Return what the BMC of a node shows. A driver with ``watches`` has it.

        :param node: as for ``Task``.
        :raises WorkFailed: it does not answer.
        """
        raise WorkFailed(f"The driver '{node['driver']}' has no BMC.")
