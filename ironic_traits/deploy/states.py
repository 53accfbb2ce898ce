"""The state machine of a node: its provision states, the events between them, and the verbs that trigger events.

The state machine is Ironic's.
"""

import dataclasses
import datetime

from automaton import exceptions, machines

ACTIVE = 'active'
ADOPTFAIL = 'adopt failed'
ADOPTING = 'adopting'
AVAILABLE = 'available'
CLEANFAIL = 'clean failed'
CLEANHOLD = 'clean hold'
CLEANING = 'cleaning'
CLEANWAIT = 'clean wait'
DELETING = 'deleting'
DEPLOYFAIL = 'deploy failed'
DEPLOYHOLD = 'deploy hold'
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
SERVICEFAIL = 'service failed'
SERVICEHOLD = 'service hold'
SERVICEWAIT = 'service wait'
SERVICING = 'servicing'
UNRESCUEFAIL = 'unrescue failed'
UNRESCUING = 'unrescuing'
VERIFYING = 'verifying'

#: Valid values of the filter of a list. They include states that nodes of this service never reach.
PROVISION_STATES = frozenset(
    {
        ACTIVE,
        ADOPTING,
        ADOPTFAIL,
        AVAILABLE,
        CLEANFAIL,
        CLEANHOLD,
        CLEANWAIT,
        CLEANING,
        'deleted',
        DELETING,
        DEPLOYFAIL,
        DEPLOYHOLD,
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
        SERVICEFAIL,
        SERVICEHOLD,
        SERVICEWAIT,
        SERVICING,
        UNRESCUEFAIL,
        UNRESCUING,
        VERIFYING,
        DEPLOYWAIT,
    }
)
FAULTS = ('power failure', 'clean failure', 'rescue abort failure', 'service failure')

#: {state: {event: next state}}.
TRANSITIONS = {
    ENROLL: {'manage': VERIFYING},
    VERIFYING: {'done': MANAGEABLE, 'fail': ENROLL},
    MANAGEABLE: {'provide': CLEANING, 'clean': CLEANING, 'inspect': INSPECTING, 'adopt': ADOPTING},
    CLEANING: {'done': AVAILABLE, 'manage': MANAGEABLE, 'wait': CLEANWAIT, 'hold': CLEANHOLD, 'fail': CLEANFAIL},
    CLEANWAIT: {'resume': CLEANING, 'hold': CLEANHOLD, 'abort': CLEANFAIL, 'fail': CLEANFAIL},
    CLEANHOLD: {'unhold': CLEANWAIT, 'abort': CLEANFAIL},
    CLEANFAIL: {'manage': MANAGEABLE},
    AVAILABLE: {'deploy': DEPLOYING, 'manage': MANAGEABLE},
    DEPLOYING: {'done': ACTIVE, 'wait': DEPLOYWAIT, 'hold': DEPLOYHOLD, 'fail': DEPLOYFAIL},
    DEPLOYWAIT: {'resume': DEPLOYING, 'delete': DELETING, 'abort': DEPLOYFAIL, 'fail': DEPLOYFAIL, 'hold': DEPLOYHOLD},
    DEPLOYHOLD: {'unhold': DEPLOYWAIT, 'abort': DEPLOYFAIL},
    DEPLOYFAIL: {'deploy': DEPLOYING, 'rebuild': DEPLOYING, 'delete': DELETING},
    ACTIVE: {'rebuild': DEPLOYING, 'delete': DELETING, 'rescue': RESCUING, 'service': SERVICING},
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
    SERVICING: {'done': ACTIVE, 'wait': SERVICEWAIT, 'hold': SERVICEHOLD, 'fail': SERVICEFAIL},
    # In Ironic, an aborted service has two events: "fail", and then "abort".
    SERVICEWAIT: {'resume': SERVICING, 'hold': SERVICEHOLD, 'delete': DELETING, 'abort': ACTIVE, 'fail': SERVICEFAIL},
    SERVICEHOLD: {'service': SERVICING, 'unhold': SERVICEWAIT, 'abort': ACTIVE, 'fail': SERVICEFAIL},
    SERVICEFAIL: {'service': SERVICING, 'rescue': RESCUING, 'delete': DELETING, 'abort': ACTIVE},
}
#: {state: target state}. States without a target are stable.
TARGETS = {
    VERIFYING: MANAGEABLE,
    **dict.fromkeys((CLEANING, CLEANWAIT, CLEANHOLD, CLEANFAIL, DELETING), AVAILABLE),
    **dict.fromkeys(
        (DEPLOYING, DEPLOYWAIT, DEPLOYHOLD, DEPLOYFAIL, ADOPTING, ADOPTFAIL, UNRESCUING, UNRESCUEFAIL), ACTIVE
    ),
    **dict.fromkeys((INSPECTING, INSPECTWAIT, INSPECTFAIL), MANAGEABLE),
    **dict.fromkeys((RESCUING, RESCUEWAIT, RESCUEFAIL), RESCUE),
    **dict.fromkeys((SERVICING, SERVICEWAIT, SERVICEHOLD, SERVICEFAIL), ACTIVE),
}
#: States in which a worker acts, states in which the work waits until a worker acts again, and states in which it waits
#: for the verb "unhold".
WORKING = frozenset({VERIFYING, CLEANING, DEPLOYING, DELETING, INSPECTING, ADOPTING, RESCUING, UNRESCUING, SERVICING})
WAITING = frozenset({CLEANWAIT, DEPLOYWAIT, INSPECTWAIT, RESCUEWAIT, SERVICEWAIT})
HELD = frozenset({CLEANHOLD, DEPLOYHOLD, SERVICEHOLD})

#: States in which a node can be deleted without maintenance. By default, "available" is also allowed.
DELETABLE = (MANAGEABLE, ENROLL, ADOPTFAIL)
#: States in which fields can be changed although the state has a target.
UPDATABLE = frozenset(
    {
        DEPLOYFAIL,
        INSPECTWAIT,
        INSPECTFAIL,
        CLEANFAIL,
        ERROR,
        VERIFYING,
        ADOPTFAIL,
        RESCUEFAIL,
        UNRESCUEFAIL,
        SERVICEFAIL,
        SERVICEHOLD,
    }
)
#: States in which the interfaces of a node can be changed, and a resource class that is set already.
RECONFIGURABLE = (ENROLL, INSPECTING, INSPECTWAIT, MANAGEABLE, AVAILABLE)
#: States in which a node can be protected.
PROTECTABLE = (ACTIVE, RESCUE)

POWER_ON = 'power on'
POWER_OFF = 'power off'
POWER_ERROR = 'error'
REBOOT = 'rebooting'
SOFT_REBOOT = 'soft rebooting'
SOFT_POWER_OFF = 'soft power off'
#: {provision state: power state} of an imported node whose document has no power state. In other states, it is off.
USUAL_POWER = {ENROLL: None, ACTIVE: POWER_ON, RESCUE: POWER_ON}
#: {target that clients can request: resulting power state}.
POWER_TARGETS = {
    POWER_ON: POWER_ON,
    POWER_OFF: POWER_OFF,
    REBOOT: POWER_ON,
    SOFT_REBOOT: POWER_ON,
    SOFT_POWER_OFF: POWER_OFF,
}


@dataclasses.dataclass(frozen=True)
class Verb:
    """A target that clients request (PUT /v1/nodes/X/states/provision).

    :ivar event: event of the state machine.
    :ivar since: the first minor version that has the verb.
    :ivar action: action of the driver, one of ACTIONS; None if the driver does nothing.
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
    'unhold': Verb('unhold', 85),
    'service': Verb('service', 87, 'service'),
}
#: {event that a client cannot cause while the node is in maintenance: what Ironic calls the operation}.
NOT_IN_MAINTENANCE = {
    **dict.fromkeys(('deploy', 'rebuild'), 'provisioning'),
    'clean': 'cleaning',
    'rescue': 'rescuing',
    'unrescue': 'unrescuing',
    'service': 'service',
}
#: The actions of drivers.
ACTIONS = tuple(sorted({verb.action for verb in VERBS.values() if verb.action} | {'power'}))


def _machine() -> machines.FiniteMachine:
    machine = machines.FiniteMachine()
    for state in TRANSITIONS:
        machine.add_state(state)
    for state, events in TRANSITIONS.items():
        for event, target in events.items():
            machine.add_transition(state, target, event)
    return machine


_MACHINE = _machine()


def follow(state: str, event: str) -> str | None:
    """Return the next state after an event; None if the event is not possible in the state.

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


def target(state: str | None, before: str | None = None) -> str | None:
    """Return the target of a provision state; None for a stable state.

    :param state: a provision state.
    :param before: the previous target of the node. During manual cleaning, and for a retired node, it is "manageable",
        and is kept instead of the usual target of the state.
    """
    if before == MANAGEABLE and state in (CLEANING, CLEANWAIT, CLEANHOLD, CLEANFAIL):
        return MANAGEABLE
    return TARGETS.get(state) if state else None


def inspection_times(before: str, state: str | None, moment: datetime.datetime) -> dict[str, datetime.datetime | None]:
    """Return the times of the inspection of a node that a change of its provision state sets: {field: value}.

    As in Ironic, an inspection has a beginning until it ends, and an end once it has succeeded.

    :param before: the previous state.
    :param moment: time of the change.
    """
    if state == INSPECTING:
        return {'inspection_started_at': moment, 'inspection_finished_at': None}
    if state == INSPECTWAIT or before not in (INSPECTING, INSPECTWAIT):
        return {}
    return {'inspection_started_at': None} | ({'inspection_finished_at': moment} if state == MANAGEABLE else {})
