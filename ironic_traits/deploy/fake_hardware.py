"""fake-hardware: a driver without hardware, with configurable delays and failures."""

from ironic_traits.deploy import base, states
from ironic_traits.deploy.steps import Step

#: The power state after an action; other actions do not change it.
_POWER_AFTER = {
    'deploy': states.POWER_ON,
    'rebuild': states.POWER_ON,
    'rescue': states.POWER_ON,
    'unrescue': states.POWER_ON,
    'undeploy': states.POWER_OFF,
    'clean': states.POWER_OFF,
}


class FakeHardware(base.Driver):
    """A driver that accepts all actions and does nothing."""

    interfaces = {
        'bios': ('fake', 'no-bios'),
        'boot': ('fake',),
        'console': ('fake', 'no-console'),
        'deploy': ('fake',),
        'firmware': ('fake', 'no-firmware'),
        'inspect': ('fake', 'no-inspect'),
        'management': ('fake',),
        'network': ('noop',),
        'power': ('fake',),
        'raid': ('fake', 'no-raid'),
        'rescue': ('fake', 'no-rescue'),
        'storage': ('noop', 'fake'),
        'vendor': ('fake', 'no-vendor'),
    }
    properties = {
        'fake_delays': 'Seconds that actions take on this node, as {"deploy": 5}. Overrides [fake_hardware] delays.',
        'fake_failures': 'Actions that fail on this node, as ["deploy"]. Overrides [fake_hardware] failures.',
    }

    clean_steps = (
        Step(
            'bios',
            'apply_configuration',
            {'settings': 'List of BIOS settings, each item needs to contain a dictionary with name/value pairs'},
            ('settings',),
        ),
        Step('bios', 'cache_bios_settings'),
        Step('bios', 'factory_reset'),
        Step('vendor', 'log_passthrough'),
    )

    def work(self, task):
        """See ``base.Driver``."""
        delay = self._delay(task)
        if delay > 0 and task.phase == 0:
            return base.Later(delay)
        if task.action in self._setting(task, 'failures'):
            raise base.WorkFailed(f'fake-hardware is configured to fail "{task.action}".')
        if task.action in ('deploy', 'rebuild') and _is_step_disabled(task):
            raise base.WorkFailed('No deploy steps returned by the driver')
        if task.action == 'power':
            return base.Done(power_state=states.POWER_TARGETS[task.arguments['target']])
        after = _POWER_AFTER.get(task.action)
        if after == states.POWER_OFF and task.node['disable_power_off']:
            after = None
        return base.Done(power_state=after or task.node['power_state'] or states.POWER_OFF)

    def _delay(self, task):
        try:
            return float(self._setting(task, 'delays').get(task.action, 0))
        except (AttributeError, TypeError, ValueError) as error:
            raise base.WorkFailed(f'fake_delays is not an object of action names and seconds: {error}') from error

    def _setting(self, task, option):
        value = task.node['driver_info'].get(f'fake_{option}')
        return self.conf.fake_hardware[option] if value is None else value


def _is_step_disabled(task):
    """Whether the client disabled the deploy step, which is the only one of this driver."""
    return any(
        (step['interface'], step['step'], int(step['priority'])) == ('deploy', 'deploy', 0)
        for step in task.arguments.get('deploy_steps', ())
    )
