"""Options of [mirror]: the clouds whose nodes ironic-traits-mirror follows."""

from oslo_config import cfg

GROUP = 'mirror'

_WRITE = [
    ('nothing', 'The clouds are only read.'),
    (
        'traits',
        'Traits that sources here hold are added to the nodes there, and removed when no source holds them any '
        'more. "ironic-traits-mirror preview" shows what this would write.',
    ),
]
_CLAIMS = [
    ('', 'Mirrored nodes are held in this service only.'),
    ('nothing', 'The same.'),
    ('instance_uuid', 'A mirrored node is held in its cloud, too, by its instance_uuid there.'),
]


def _by_cloud(choices):
    """Return the type of an option that has a value for each of some clouds."""
    values = [value for value, _ in choices if value]
    return cfg.types.Dict(cfg.types.String(choices=values, type_name='choice'), type_name='choice by cloud')


OPTIONS = [
    cfg.ListOpt(
        'clouds',
        default=[],
        item_type=cfg.types.String(regex=r'^[A-Za-z0-9._-]+$', max_length=57),
        help='Clouds of clouds.yaml whose Ironic is followed, by name. With clouds, ironic-traits-api starts '
        'ironic-traits-mirror.',
    ),
    cfg.BoolOpt(
        'start_mirror',
        default=True,
        help='Whether ironic-traits-api starts an ironic-traits-mirror process if there are clouds, and restarts it '
        'when it ends. Disable it when you run ironic-traits-mirror as a service of its own.',
    ),
    cfg.FloatOpt(
        'interval', min=0.1, default=3, help='Seconds between two requests for the nodes that have changed in a cloud.'
    ),
    cfg.FloatOpt(
        'records_interval',
        min=0.1,
        default=30,
        help='Seconds between two requests for the ports and portgroups that have changed in a cloud, and for the '
        'data of inspections that have ended since.',
    ),
    cfg.FloatOpt(
        'deletions_interval',
        min=1,
        default=300,
        help='Seconds between two reads of the uuids of all nodes, ports and portgroups of a cloud, by which deleted '
        'ones are noticed. From version 1.82 on, deleted nodes are noticed sooner, by their number; as long as that '
        'fits, the uuids of nodes are read once an hour only.',
    ),
    cfg.IntOpt(
        'full_interval',
        min=0,
        default=86400,
        help='Seconds after which all nodes, ports and portgroups of a cloud are read again, and compared. 0 means '
        'only once, at the beginning.',
    ),
    cfg.IntOpt(
        'page_size',
        min=10,
        max=1000,
        default=500,
        help='Nodes in a page of a full read. Ironic limits it, too ([api] max_limit).',
    ),
    cfg.FloatOpt(
        'overlap_seconds',
        min=0,
        default=10,
        help='Seconds for which changes are read again. Set it to more than the clocks of the conductors of a cloud '
        'differ.',
    ),
    cfg.IntOpt(
        'timeout', min=1, default=60, help='Seconds that a request to a cloud may take. After that it has failed.'
    ),
    cfg.IntOpt(
        'max_pause',
        min=1,
        default=60,
        help='Most seconds between two attempts while a cloud does not respond, or refuses requests. The first '
        'attempt is after one second, and each further one after twice as long.',
    ),
    cfg.IntOpt(
        'lease_seconds',
        min=5,
        default=30,
        help='Seconds after which another ironic-traits-mirror may continue the work of one that has not written '
        'since. It is longer than a request may take, or another one takes over during slow requests.',
    ),
    cfg.StrOpt('write', default='nothing', choices=_WRITE, help='What is written to the Ironic of the clouds.'),
    cfg.Opt(
        'write_by_cloud',
        type=_by_cloud(_WRITE),
        default={},
        sample_default='',
        help='The same for single clouds, such as "berlin:traits,paris:nothing". The others have ``write``.',
    ),
    cfg.FloatOpt(
        'write_rate',
        min=0.01,
        default=5,
        help='Most requests in a second that write traits to a cloud, with those that read the nodes before.',
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
        type=_by_cloud(_CLAIMS),
        default={},
        sample_default='',
        help='The same for single clouds, such as "berlin:instance_uuid,paris:nothing". The others have ``claims``.',
    ),
    cfg.IntOpt(
        'claim_seconds',
        min=6,
        default=30,
        help='Seconds after which a node that is held only here, or only in its cloud, is held on both sides or on '
        'none. A request to hold a node there may take a third of that.',
    ),
]


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)


def writes_traits(conf, cloud):
    """Whether traits are written to a cloud.

    :param cloud: its name.
    """
    return conf.mirror.write_by_cloud.get(cloud, conf.mirror.write) == 'traits'


def claims_nodes(conf, cloud):
    """Whether nodes of a cloud are held there, too.

    :param cloud: its name.
    """
    return conf.mirror.claims_by_cloud.get(cloud, conf.mirror.claims) == 'instance_uuid'


def claims_any_nodes(conf):
    """Whether nodes of some clouds may have to be held there, too."""
    return 'instance_uuid' in (conf.mirror.claims, *conf.mirror.claims_by_cloud.values())
