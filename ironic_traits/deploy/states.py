"""The provision states of a node, the events that lead from one to another, and the verbs that clients have for them.

The machine is Ironic's, without the states that no verb up to version 1.82 leads to (holds and servicing).
"""

import dataclasses

from automaton import exceptions, machines

ACTIVE = 'active'
ADOPTFAIL = 'adopt failed'
ADOPTING = 'adopting'
AVAILABLE = 'available'
CLEANFAIL = 'clean failed'
CLEANING = 'cleaning'
CLEANWAIT = 'clean wait'
DELETING = 'deleting'
DEPLOYFAIL = 'deploy failed'
DEPLOYING = 'deploying'
DEPLOYWAIT = 'wait call-back'
ENROLL = 'enroll'
ERROR = 'error'
INSPECTFAIL = 'inspect failed'
INSPECTING = 'inspecting'
INSPECTWAIT = 'inspect wait'
MANAGEABLE = 'manageable'
RESCUE = 'rescue'
RESCUEFAIL = 'rescue failed'
RESCUEWAIT = 'rescue wait'
RESCUING = 'rescuing'
UNRESCUEFAIL = 'unrescue failed'
UNRESCUING = 'unrescuing'
VERIFYING = 'verifying'

#: What a list may be filtered by: also states that nodes of this service never reach.
PROVISION_STATES = frozenset(
    {
        ACTIVE,
        ADOPTING,
        ADOPTFAIL,
        AVAILABLE,
        CLEANFAIL,
        'clean hold',
        CLEANWAIT,
        CLEANING,
        'deleted',
        DELETING,
        DEPLOYFAIL,
        'deploy hold',
        DEPLOYING,
        ENROLL,
        ERROR,
        INSPECTFAIL,
        INSPECTWAIT,
        INSPECTING,
        MANAGEABLE,
        'rebuild',
        RESCUE,
        RESCUEFAIL,
        RESCUEWAIT,
        RESCUING,
        'service failed',
        'service hold',
        'service wait',
        'servicing',
        UNRESCUEFAIL,
        UNRESCUING,
        VERIFYING,
        DEPLOYWAIT,
    }
)
FAULTS = ('power failure', 'clean failure', 'rescue abort failure', 'service failure')

#: For each state the events that it knows, and where each leads.
TRANSITIONS = {
    ENROLL: {'manage': VERIFYING},
    VERIFYING: {'done': MANAGEABLE, 'fail': ENROLL},
    MANAGEABLE: {'provide': CLEANING, 'clean': CLEANING, 'inspect': INSPECTING, 'adopt': ADOPTING},
    CLEANING: {'done': AVAILABLE, 'manage': MANAGEABLE, 'wait': CLEANWAIT, 'fail': CLEANFAIL},
    CLEANWAIT: {'resume': CLEANING, 'abort': CLEANFAIL, 'fail': CLEANFAIL},
    CLEANFAIL: {'manage': MANAGEABLE},
    AVAILABLE: {'deploy': DEPLOYING, 'manage': MANAGEABLE},
    DEPLOYING: {'done': ACTIVE, 'wait': DEPLOYWAIT, 'fail': DEPLOYFAIL},
    DEPLOYWAIT: {'resume': DEPLOYING, 'delete': DELETING, 'abort': DEPLOYFAIL, 'fail': DEPLOYFAIL},
    DEPLOYFAIL: {'deploy': DEPLOYING, 'rebuild': DEPLOYING, 'delete': DELETING},
    ACTIVE: {'rebuild': DEPLOYING, 'delete': DELETING, 'rescue': RESCUING},
    DELETING: {'clean': CLEANING, 'fail': ERROR},
    ERROR: {'rebuild': DEPLOYING, 'delete': DELETING},
    INSPECTING: {'done': MANAGEABLE, 'wait': INSPECTWAIT, 'fail': INSPECTFAIL},
    INSPECTWAIT: {'resume': INSPECTING, 'done': MANAGEABLE, 'abort': INSPECTFAIL, 'fail': INSPECTFAIL},
    INSPECTFAIL: {'inspect': INSPECTING, 'manage': MANAGEABLE},
    ADOPTING: {'done': ACTIVE, 'fail': ADOPTFAIL},
    ADOPTFAIL: {'adopt': ADOPTING, 'manage': MANAGEABLE},
    RESCUE: {'rescue': RESCUING, 'unrescue': UNRESCUING, 'delete': DELETING},
    RESCUING: {'done': RESCUE, 'wait': RESCUEWAIT, 'fail': RESCUEFAIL},
    RESCUEWAIT: {'resume': RESCUING, 'abort': RESCUEFAIL, 'delete': DELETING, 'fail': RESCUEFAIL},
    RESCUEFAIL: {'rescue': RESCUING, 'unrescue': UNRESCUING, 'delete': DELETING},
    UNRESCUING: {'done': ACTIVE, 'fail': UNRESCUEFAIL},
    UNRESCUEFAIL: {'rescue': RESCUING, 'unrescue': UNRESCUING, 'delete': DELETING},
}
#: Where each state is on its way to; the states that are missing are at rest.
TARGETS = {
    VERIFYING: MANAGEABLE,
    **dict.fromkeys((CLEANING, CLEANWAIT, CLEANFAIL, DELETING), AVAILABLE),
    **dict.fromkeys((DEPLOYING, DEPLOYWAIT, DEPLOYFAIL, ADOPTING, ADOPTFAIL, UNRESCUING, UNRESCUEFAIL), ACTIVE),
    **dict.fromkeys((INSPECTING, INSPECTWAIT, INSPECTFAIL), MANAGEABLE),
    **dict.fromkeys((RESCUING, RESCUEWAIT, RESCUEFAIL), RESCUE),
}
#: States in which a worker has something to do at once, and in which it waits for a while.
WORKING = frozenset({VERIFYING, CLEANING, DEPLOYING, DELETING, INSPECTING, ADOPTING, RESCUING, UNRESCUING})
WAITING = frozenset({CLEANWAIT, DEPLOYWAIT, INSPECTWAIT, RESCUEWAIT})

#: States in which a node that is not in maintenance can be deleted ("available" too, unless configured otherwise).
DELETABLE = (MANAGEABLE, ENROLL, ADOPTFAIL)
#: States with a target in which fields can be changed all the same.
UPDATABLE = frozenset(
    {DEPLOYFAIL, INSPECTWAIT, INSPECTFAIL, CLEANFAIL, ERROR, VERIFYING, ADOPTFAIL, RESCUEFAIL, UNRESCUEFAIL}
)
#: States in which the interfaces and the resource class of a node that has one can be changed.
RECONFIGURABLE = (ENROLL, INSPECTING, INSPECTWAIT, MANAGEABLE, AVAILABLE)
#: States in which a node can be protected.
PROTECTABLE = (ACTIVE, RESCUE)

POWER_ON = 'power on'
POWER_OFF = 'power off'
POWER_ERROR = 'error'
REBOOT = 'rebooting'
SOFT_REBOOT = 'soft rebooting'
SOFT_POWER_OFF = 'soft power off'
#: In which power state a node is where nobody says; off in all others.
USUAL_POWER = {ENROLL: None, ACTIVE: POWER_ON, RESCUE: POWER_ON}
#: What the power state can be asked to become, and what it then is.
POWER_TARGETS = {
    POWER_ON: POWER_ON,
    POWER_OFF: POWER_OFF,
    REBOOT: POWER_ON,
    SOFT_REBOOT: POWER_ON,
    SOFT_POWER_OFF: POWER_OFF,
}


@dataclasses.dataclass(frozen=True)
class Verb:
    """A word that clients ask for.

    :ivar event: of the machine.
    :ivar since: the minor version that brought the word.
    :ivar action: what the driver has to do then, one of ACTIONS; None for nothing.
    """

    event: str
    since: int
    action: str | None = None


VERBS = {
    'active': Verb('deploy', 1, 'deploy'),
    'deploy': Verb('deploy', 73, 'deploy'),
    'rebuild': Verb('rebuild', 1, 'rebuild'),
    'deleted': Verb('delete', 1, 'undeploy'),
    'undeploy': Verb('delete', 73, 'undeploy'),
    'manage': Verb('manage', 4, 'verify'),
    'provide': Verb('provide', 4, 'clean'),
    'inspect': Verb('inspect', 6, 'inspect'),
    'abort': Verb('abort', 13),
    'clean': Verb('clean', 15, 'clean'),
    'adopt': Verb('adopt', 17, 'adopt'),
    'rescue': Verb('rescue', 38, 'rescue'),
    'unrescue': Verb('unrescue', 38, 'unrescue'),
}
#: What drivers are asked to do.
ACTIONS = tuple(sorted({verb.action for verb in VERBS.values() if verb.action} | {'power'}))


def _machine():
    made = machines.FiniteMachine()
    for state in TRANSITIONS:
        made.add_state(state)
    for state, events in TRANSITIONS.items():
        for event, target in events.items():
            made.add_transition(state, target, event)
    return made


_MACHINE = _machine()


def follow(state, event):
    """Give the state that an event leads to; None when the state does not know the event.

    :param state: a provision state.
    :param event: 'manage', 'done', 'fail', …
    """
    machine = _MACHINE.copy(shallow=True)
    try:
        machine.initialize(state)
        machine.process_event(event)
    except (exceptions.NotFound, exceptions.NotInitialized):
        return None
    return machine.current_state


def target(state, before=None):
    """Give the state that a state is on its way to, None for one at rest.

    :param before: the target that the node had.  A node that is cleaned by hand, or that is retired, goes to
        "manageable" from its cleaning, and not to where the state itself leads.
    """
    if before == MANAGEABLE and state in (CLEANING, CLEANWAIT, CLEANFAIL):
        return MANAGEABLE
    return TARGETS.get(state)
