"""[fake_hardware]: how long the driver without hardware takes, and what it fails in."""

from oslo_config import cfg, types

from ironic_traits.deploy import states

GROUP = 'fake_hardware'

OPTIONS = [
    cfg.Opt(
        'delays',
        type=types.Dict(types.Float(min=0)),
        default={},
        sample_default='deploy:30,clean:10',
        help=f'Seconds that actions take: {", ".join(states.ACTIONS)}. What is not named takes no time.',
    ),
    cfg.ListOpt(
        'failures',
        item_type=types.String(choices=states.ACTIONS),
        default=[],
        help='Actions that fail.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
