"""The provision states of a node, by the names that clients know."""

ACTIVE = 'active'
ADOPTFAIL = 'adopt failed'
AVAILABLE = 'available'
ENROLL = 'enroll'
MANAGEABLE = 'manageable'

PROVISION_STATES = frozenset(
    {
        ACTIVE,
        'adopting',
        ADOPTFAIL,
        AVAILABLE,
        'clean failed',
        'clean hold',
        'clean wait',
        'cleaning',
        'deleted',
        'deleting',
        'deploy failed',
        'deploy hold',
        'deploying',
        ENROLL,
        'error',
        'inspect failed',
        'inspect wait',
        'inspecting',
        MANAGEABLE,
        'rebuild',
        'rescue',
        'rescue failed',
        'rescue wait',
        'rescuing',
        'service failed',
        'service hold',
        'service wait',
        'servicing',
        'unrescue failed',
        'unrescuing',
        'verifying',
        'wait call-back',
    }
)

#: States in which a node that is not in maintenance can be deleted ("available" too, unless configured otherwise).
DELETABLE = frozenset({ADOPTFAIL, ENROLL, MANAGEABLE})
