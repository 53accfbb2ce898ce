"""What a driver is: the class behind an entry point of ``ironic_traits.deploy.drivers``."""

import abc
import dataclasses
from typing import Any


class WorkFailed(Exception):
    """The driver gives an action up; the text is for the node's ``last_error``."""


class WorkRefused(WorkFailed):
    """The action cannot be begun: nothing was done to the node."""


@dataclasses.dataclass(frozen=True)
class Later:
    """The action is not finished: call again.

    :ivar seconds: not before.
    """

    seconds: float


@dataclasses.dataclass(frozen=True)
class Done:
    """The action is finished.

    :ivar power_state: what the node's power state is now; None when it did not change.
    :ivar properties: what was found out about the hardware, to go into the node's ``properties``.
    """

    power_state: str | None = None
    properties: dict[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Task:
    """One action on one node.

    :ivar action: one of ``states.ACTIONS``.
    :ivar phase: how often the driver has answered Later to it.
    :ivar arguments: what the client said: ``target`` of power; ``clean_steps``, ``deploy_steps``, ``disable_ramdisk``,
        ``rescue_password``.
    :ivar node: the node's columns by name, and ``traits``, a sorted list.
    """

    action: str
    phase: int
    arguments: dict[str, Any]
    node: dict[str, Any]


class Driver(abc.ABC):
    """Works on nodes.

    :param conf: ConfigOpts of the service.
    :cvar interfaces: for each of ``db.models.INTERFACES`` the implementations that a node may name, the default first.
    :cvar properties: the driver_info keys that it understands, each with a description.
    :cvar clean_steps: ironic_traits.deploy.steps.Step of each step that nodes can be cleaned with; None when ``work``
        finds out itself what it can do.
    :cvar core_deploy_steps: (interface, step) of each deploy step that clients may disable, but not replace.
    """

    interfaces: dict[str, tuple[str, ...]]
    properties: dict[str, str] = {}
    clean_steps: tuple[Any, ...] | None = None
    core_deploy_steps: frozenset[tuple[str, str]] = frozenset({('deploy', 'deploy')})

    def __init__(self, conf):
        self.conf = conf

    @abc.abstractmethod
    def work(self, task):
        """Do something for an action.

        It has [deploy] lease_seconds for that; after them TimeoutError is raised in here.
        A worker that dies is followed by another, which calls again with the same phase: what is done here must bear
        being done twice.

        :param task: Task.
        :returns: Done, or Later to be called again.
        :raises WorkFailed: the action has failed.
        """
