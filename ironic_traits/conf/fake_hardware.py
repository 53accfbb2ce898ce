"""Options of [fake_hardware]: simulated durations and failures of the driver without hardware."""

from oslo_config import cfg, types

from ironic_traits.deploy import states

GROUP = 'fake_hardware'

OPTIONS = [
    cfg.Opt(
        'delays',
        type=types.Dict(types.Float(min=0)),
        default={},
        sample_default='deploy:30,clean:10',
        help=f'Seconds that each action takes, as ACTION:SECONDS. The actions are {", ".join(states.ACTIONS)}. By '
        'default they take no time. Set it to see nodes in transitional states.',
    ),
    cfg.ListOpt(
        'failures',
        item_type=types.String(choices=states.ACTIONS),
        default=[],
        help='Actions that fail. By default none fails. Set it to test how clients handle failures.',
    ),
]


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
