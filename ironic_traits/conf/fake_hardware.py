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
        help=f'Seconds that each action takes, as ACTION:SECONDS. The actions are {", ".join(states.ACTIONS)}. An '
        'action that consists of steps (deploy, rebuild, clean, service) takes these seconds for each of its steps, '
        'except for those that are listed themselves, as INTERFACE.STEP:SECONDS. By default actions take no time. Set '
        'it to see nodes in transitional states.',
    ),
    cfg.ListOpt(
        'failures',
        item_type=types.String(regex=rf'^({"|".join(states.ACTIONS)}|[a-z]+\.\w+)$'),
        default=[],
        help='Actions that fail, and steps of actions (INTERFACE.STEP) that fail. By default none fails. Set it to '
        'test how clients handle failures.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
