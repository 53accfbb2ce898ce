"""Options of [mirror]: the clouds whose nodes ironic-traits-mirror follows."""

from collections.abc import Iterable

from oslo_config import cfg

GROUP = 'mirror'

#: What is written to a cloud: nothing; nothing, and what was written before is removed; the traits of all sources here;
#: or those of some sources.
_WRITE = cfg.types.String(
    regex=r'^(nothing|withdraw|traits|(operator|rules)(\+(operator|rules))*)$', type_name='sources'
)
_CLAIMS = [
    ('', 'Mirrored nodes are held in this service only.'),
    ('nothing', 'Same as the empty value.'),
    ('instance_uuid', 'A mirrored node is held in its cloud, too, by its instance_uuid there.'),
]


def _by_cloud(value: cfg.types.ConfigType) -> cfg.types.Dict:
    """Return the type of an option that has a value of some type for each of some clouds."""
    return cfg.types.Dict(value, type_name=f'{value.type_name} by cloud')


def _choice(choices: Iterable[tuple[str, str]]) -> cfg.types.String:
    return cfg.types.String(choices=[value for value, _ in choices if value], type_name='choice')


OPTIONS = [
    cfg.ListOpt(
        'clouds',
        default=[],
        item_type=cfg.types.String(regex=r'^[A-Za-z0-9._-]+$', max_length=57),
        help='Names of the clouds in clouds.yaml whose Ironic is followed. If there are any, ironic-traits-api starts '
        'ironic-traits-mirror (see start_mirror).',
    ),
    cfg.BoolOpt(
        'start_mirror',
        default=True,
        help='Whether ironic-traits-api starts an ironic-traits-mirror process if there are clouds, and restarts it '
        'when it ends. Disable it when you run ironic-traits-mirror as a service of its own.',
    ),
    cfg.FloatOpt(
        'interval',
        min=0.1,
        default=3,
        help='Seconds between two requests for the nodes that have changed in a cloud. After the same time, the mirror '
        'looks for changed traits to write there, and for claims to settle.',
    ),
    cfg.FloatOpt(
        'records_interval',
        min=0.1,
        default=30,
        help='Seconds between two requests for the ports, portgroups, chassis and allocations that have changed in a '
        'cloud, for the data of inspections that have ended since, and for items with conflicts.',
    ),
    cfg.FloatOpt(
        'deletions_interval',
        min=1,
        default=300,
        help='Seconds between two reads of the uuids of all nodes, ports, portgroups and allocations of a cloud. These '
        'reads find deleted items. From version 1.82 on, the number of nodes shows deleted nodes sooner. As long as it '
        'is as expected, the uuids of nodes are read only once an hour.',
    ),
    cfg.IntOpt(
        'max_deleted_nodes',
        min=0,
        default=10,
        help='If a cloud no longer shows more nodes than this, and more than max_deleted_percent, they stay here until '
        'you confirm their deletion ("ironic-traits-mirror --cloud NAME confirm deletions"). A user of the mirror that '
        'has lost a role sees fewer nodes, too.',
    ),
    cfg.FloatOpt(
        'max_deleted_percent',
        min=0,
        max=100,
        default=1,
        help='See max_deleted_nodes: part of the nodes of a cloud, in percent.',
    ),
    cfg.IntOpt(
        'keep_deleted',
        min=0,
        default=30,
        help='Number of days for which the traits, vetoes, inspection data and aggregates of deleted nodes are kept. '
        'A node that returns to its cloud with its uuid gets them back. With 0, they are not kept.',
    ),
    cfg.IntOpt(
        'full_interval',
        min=0,
        default=86400,
        help='Seconds after which all nodes, ports, portgroups, chassis and allocations of a cloud are read again, and '
        'compared. With 0, they are read only once, at the beginning.',
    ),
    cfg.IntOpt(
        'page_size',
        min=10,
        max=1000,
        default=500,
        help='Maximum number of items in a page of a list that is read from a cloud. The Ironic there has a limit, '
        'too ([api] max_limit).',
    ),
    cfg.FloatOpt(
        'overlap_seconds',
        min=0,
        default=10,
        help='Number of seconds of earlier changes that are read again with each request for changes. The hosts of a '
        'cloud set the timestamps of changes by their own clocks: set the option to more than these clocks differ.',
    ),
    cfg.IntOpt(
        'timeout', min=1, default=60, help='Seconds that a request to a cloud may take. After that it has failed.'
    ),
    cfg.IntOpt(
        'max_pause',
        min=1,
        default=60,
        help='Maximum number of seconds between two attempts while a cloud does not respond, or refuses requests. The '
        'first pause is one second, and each further one is twice as long.',
    ),
    cfg.IntOpt(
        'lease_seconds',
        min=5,
        default=30,
        help='Seconds after which another ironic-traits-mirror may take over a cloud from one that has not renewed its '
        'lease. A mirror renews its lease when it writes to the database, and not while it waits for a response of '
        'the cloud. So another mirror may also take over while requests to the cloud are slow (see timeout). Then the '
        'slow one writes nothing more for the cloud, and no change is missed. A request that writes a trait may take '
        'a third of this time. Set it to more than interval.',
    ),
    cfg.Opt(
        'write',
        type=_WRITE,
        default='nothing',
        help='Which traits are written to the Ironic of the clouds: "nothing"; "traits" for those that any source here '
        'holds; "operator" for those of operators only, "rules" for those of inspection rules only, and '
        '"operator+rules" for both. They are added to the nodes there, and removed when none of these sources holds '
        'them any more. With "withdraw", all that was written before is removed there, and nothing is added. Nothing '
        'is done until you have seen "ironic-traits-mirror --cloud NAME preview", and confirmed it by '
        '"ironic-traits-mirror --cloud NAME confirm writes"; again, when you change the value.',
    ),
    cfg.Opt(
        'write_by_cloud',
        type=_by_cloud(_WRITE),
        default={},
        sample_default='',
        help='The value of write for single clouds, such as "berlin:traits,paris:nothing". The other clouds have the '
        'value of write.',
    ),
    cfg.FloatOpt(
        'write_rate',
        min=0.01,
        default=5,
        help='Maximum number of requests per second that write traits to a cloud. The requests that read the nodes '
        'before these writes count, too.',
    ),
    cfg.StrOpt(
        'claims',
        default='',
        choices=_CLAIMS,
        help='How reservations and allocations hold mirrored nodes in their cloud. The user of the mirror needs the '
        'policy rule baremetal:node:update:instance_uuid there, and ironic-traits-api needs clouds.yaml.',
    ),
    cfg.Opt(
        'claims_by_cloud',
        type=_by_cloud(_choice(_CLAIMS)),
        default={},
        sample_default='',
        help='The value of claims for single clouds, such as "berlin:instance_uuid,paris:nothing". The other clouds '
        'have the value of claims.',
    ),
    cfg.IntOpt(
        'claim_seconds',
        min=6,
        default=30,
        help='Seconds until the mirror repairs a claim that holds a node only here, or only in its cloud. After that '
        'the node is held on both sides, or on neither. A request to hold a node there may take a third of this time.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)


def write_of(conf: cfg.ConfigOpts, cloud: str) -> str | None:
    """Return which traits are written to a cloud: a value of ``write``; None for "nothing".

    :param cloud: its name.
    """
    value = conf.mirror.write_by_cloud.get(cloud, conf.mirror.write)
    return None if value == 'nothing' else value


def claims_nodes(conf: cfg.ConfigOpts, cloud: str) -> bool:
    """Whether nodes of a cloud are held there, too.

    :param cloud: its name.
    """
    return conf.mirror.claims_by_cloud.get(cloud, conf.mirror.claims) == 'instance_uuid'


def claims_any_nodes(conf: cfg.ConfigOpts) -> bool:
    """Whether nodes of some clouds may have to be held there, too."""
    return 'instance_uuid' in (conf.mirror.claims, *conf.mirror.claims_by_cloud.values())
