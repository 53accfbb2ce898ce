"""/v1/nodes/{node}/states/provision"""

import re

import orjson

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import Response, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.node_power import read_arguments
from ironic_traits.deploy import states, steps
from ironic_traits.inventory import node_states, nodes

#: The interfaces that steps may name.
_STEP_INTERFACES = tuple(sorted(steps.INTERFACES))
#: A priority may be an integer, or a string of its digits.
_DIGITS = re.compile('[0-9]{1,20}')
#: The keys that each kind of step must have.
_STEP_KEYS = {'clean_steps': {'interface', 'step'}, 'deploy_steps': {'interface', 'step', 'priority', 'args'}}
#: The verbs that take each argument, and the minor version that brought it.
_ARGUMENTS = {
    'clean_steps': (('clean',), 15),
    'rescue_password': (('rescue',), 38),
    'reservation_uuid': (('active', 'deploy'), 38),
    'deploy_steps': (('active', 'deploy', 'rebuild'), 69),
    'disable_ramdisk': (('clean',), 70),
}


class ProvisionBody(types.Base):
    """The requested verb, and its arguments."""

    target = types.TEXT
    configdrive = types.Any()
    clean_steps = [types.OBJECT]
    deploy_steps = [types.OBJECT]
    disable_ramdisk = types.BOOLEAN
    rescue_password = types.TEXT
    reservation_uuid = types.UUID


class NodeProvisionController(Resource):
    """The provision state of a node."""

    @expose('baremetal:node:set_provision_state', of=access.node, body=ProvisionBody, optional_body=True)
    def put(self, context, grant, node_ident, /, *, body):
        arguments = read_arguments(body)
        verb = arguments.pop('target')
        if verb not in states.VERBS:
            _refuse(context, grant, verb)
        context.needs(states.VERBS[verb].since, f"the target '{verb}'")
        if verb == 'abort':
            _check_abort(context, grant)
        configdrive = _configdrive(context, verb, arguments.pop('configdrive', None))
        _check_arguments(context, verb, arguments)
        reservation = arguments.pop('reservation_uuid', None)
        node_states.provision(context, node_ident, verb, arguments, configdrive, reservation)
        return Response(status=202, location=f'/v1/nodes/{node_ident}/states')


def _refuse(context, grant, verb):
    node = nodes.get(context, grant, ('uuid', 'provision_state'))
    raise failures.InvalidTransition(action=verb, node=node.uuid, state=node.provision_state)


def _check_abort(context, grant):
    # The state may change before the node is locked. If it then does not allow "abort", the state machine refuses it.
    state = nodes.get(context, grant, ('provision_state',)).provision_state
    if state == states.INSPECTWAIT:
        context.needs(41, 'to abort an inspection')
    if state == states.DEPLOYWAIT:
        context.needs(110, 'to abort a deployment')


def _configdrive(context, verb, configdrive):
    """Return a config drive as it is stored: a string unchanged, an object as JSON text."""
    if configdrive is None:
        return None
    allowed = ('active', 'deploy', 'rebuild') if context.minor >= 35 else ('active', 'deploy')
    if verb not in allowed:
        raise failures.InvalidInput(
            reason='Adding a config drive is only supported when setting provision state to '
            + ', '.join(name for name in allowed if name != 'deploy' or context.minor >= 73)
        )
    if isinstance(configdrive, str):
        return configdrive
    if not isinstance(configdrive, dict):
        raise failures.InvalidInput(reason='A config drive must be a string (gzipped and base64), or an object.')
    context.needs(56, 'a config drive that is an object')
    if 'vendor_data' in configdrive:
        context.needs(59, "'vendor_data' of a config drive")
    unknown = set(configdrive) - {'meta_data', 'network_data', 'user_data', 'vendor_data'}
    if unknown:
        raise failures.InvalidInput(reason=f'Unknown keys in the config drive: {", ".join(sorted(unknown))}.')
    return orjson.dumps(configdrive).decode()


def _check_arguments(context, verb, arguments):
    for name in arguments:
        verbs, minor = _ARGUMENTS[name]
        if verb not in verbs:
            raise failures.InvalidInput(
                reason=f'"{name}" is only valid when setting target provision state to {", ".join(verbs)}'
            )
        context.needs(minor, f"'{name}'")
    if verb == 'clean' and not arguments.get('clean_steps'):
        raise failures.InvalidInput(reason='"clean_steps" is required when setting target provision state to clean')
    if verb == 'rescue' and not arguments.get('rescue_password', '').strip():
        raise failures.InvalidInput(
            reason='A non-empty "rescue_password" is required when setting target provision state to rescue'
        )
    for name in _STEP_KEYS.keys() & arguments.keys():
        for step in arguments[name]:
            _check_step(name, step)


def _check_step(name, step):
    missing = _STEP_KEYS[name].difference(step or ())
    if missing:
        raise failures.InvalidInput(reason=f"Invalid {name}: '{min(missing)}' is a required property")
    unknown = set(step) - {'interface', 'step', 'args', 'priority'}
    if unknown:
        raise failures.InvalidInput(reason=f"Invalid {name}: '{min(unknown)}' was unexpected")
    if step['interface'] not in _STEP_INTERFACES:
        raise failures.InvalidInput(
            reason=f'Invalid {name}: {step["interface"]!r} is not one of {", ".join(_STEP_INTERFACES)}'
        )
    if not isinstance(step['step'], str) or not step['step']:
        raise failures.InvalidInput(reason=f'Invalid {name}: the step {step["step"]!r} is not the name of a step')
    if not isinstance(step.get('args', {}), dict):
        raise failures.InvalidInput(reason=f"Invalid {name}: 'args' is not an object")
    if not _is_priority(step.get('priority', 0)):
        raise failures.InvalidInput(
            reason=f'Invalid {name}: the priority {step["priority"]!r} is not an integer of 0 or more'
        )


def _is_priority(value):
    if isinstance(value, str):
        return bool(_DIGITS.fullmatch(value))
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
