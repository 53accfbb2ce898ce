"""/v1/nodes/{node}/states/provision"""

import re
from collections.abc import Sequence
from typing import Any, NoReturn

from ironic_traits import failures, spelling
from ironic_traits.api import types
from ironic_traits.api.expose import Body, expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.responses import Response
from ironic_traits.api.v1 import access
from ironic_traits.api.v1.node_power import read_arguments
from ironic_traits.api.v1.runbook_fields import RUNBOOKS
from ironic_traits.context import Context, Grant
from ironic_traits.deploy import states, steps
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.provisioning import boot_images, node_states
from ironic_traits.resources.additions import ADDED

#: The interfaces that steps may name.
_STEP_INTERFACES = tuple(sorted(steps.INTERFACES))
#: A priority may be an integer, or a string of its digits.
_DIGITS = re.compile('[0-9]{1,20}')
#: The keys that each kind of step must have.
_STEP_KEYS = {
    'clean_steps': {'interface', 'step'},
    'service_steps': {'interface', 'step'},
    'deploy_steps': {'interface', 'step', 'priority', 'args'},
}
_CONFIG_DRIVE_KEYS = ('meta_data', 'network_data', 'user_data', 'vendor_data')
#: The verbs that take each argument, and the minor version that brought it.
_ARGUMENTS = {
    'clean_steps': (('clean',), 15),
    'rescue_password': (('rescue',), 38),
    'reservation_uuid': (('active', 'deploy'), ADDED),
    'deploy_steps': (('active', 'deploy', 'rebuild'), 69),
    'disable_ramdisk': (('clean', 'service'), 70),
    'service_steps': (('service',), 87),
    'runbook': (('clean', 'service'), 92),
}


class ProvisionBody(types.Base):
    """The requested verb, and its arguments."""

    _since = {name: since for name, (_, since) in _ARGUMENTS.items()}

    target = types.TEXT
    configdrive = types.Any()
    clean_steps = [types.OBJECT]
    deploy_steps = [types.OBJECT]
    service_steps = [types.OBJECT]
    runbook = types.TEXT
    disable_ramdisk = types.BOOLEAN
    rescue_password = types.TEXT
    reservation_uuid = types.UUID


class NodeProvisionController(Resource):
    """The provision state of a node."""

    @expose(
        'baremetal:node:set_provision_state', of=access.node, body=Body(ProvisionBody, optional=True), statuses=(202,)
    )
    def put(self, context: Context, grant: Grant, node_ident: str, /, *, body: Any) -> Response:
        arguments = read_arguments(body)
        verb = arguments.pop('target')
        if verb not in states.VERBS:
            _refuse(context, grant, verb)
        _check_version(context, grant, verb)
        if verb == 'abort':
            _check_abort(context, grant)
        instance = _instance(context, verb, arguments.pop('configdrive', None))
        _check_arguments(context, verb, arguments)
        _check_steps(context, grant, arguments)
        reservation = arguments.pop('reservation_uuid', None)
        if states.VERBS[verb].event in ('deploy', 'rebuild'):
            instance = boot_images.of_instance(context, node_ident, instance)
        node_states.provision(context, node_ident, verb, arguments, instance, reservation)
        return Response(status=202, location=f'/v1/nodes/{node_ident}/states')


def _refuse(context: Context, grant: Grant, verb: str | None) -> NoReturn:
    node = nodes.get(context, grant, ('uuid', 'provision_state'))
    hint = spelling.hint(verb or '', states.VERBS)
    raise failures.InvalidTransition(action=verb, node=node.uuid, state=node.provision_state, hint=hint)


def _check_version(context: Context, grant: Grant, verb: str) -> None:
    """Raise unless the version of the request has a verb. The newest verbs are refused only where they are possible."""
    since = states.VERBS[verb].since
    if context.minor < since and verb in ('unhold', 'service'):
        state = nodes.get(context, grant, ('provision_state',)).provision_state
        if states.follow(state, states.VERBS[verb].event) is None:
            _refuse(context, grant, verb)
    context.needs(since, f"the target '{verb}'")


def _check_steps(context: Context, grant: Grant, arguments: dict[str, Any]) -> None:
    """Raise unless policy allows the caller to choose the steps, or to use the runbook."""
    if 'runbook' in arguments:
        use = context.limit_to('baremetal:runbook:use')
        arguments['runbook'] = RUNBOOKS.allowed(context, use, arguments['runbook']).ident
    rules = [
        f'baremetal:node:set_provision_state:{name}' for name in ('clean_steps', 'service_steps') if name in arguments
    ]
    if rules:
        access.check_all(context, grant, rules)


def _check_abort(context: Context, grant: Grant) -> None:
    # The state may change before the node is locked. If it then does not allow "abort", the state machine refuses it.
    state = nodes.get(context, grant, ('provision_state',)).provision_state
    if state == states.INSPECTWAIT:
        context.needs(41, 'to abort an inspection')
    if state == states.DEPLOYWAIT:
        context.needs(110, 'to abort a deployment')


def _instance(context: Context, verb: str, configdrive: Any) -> dict[str, Any]:
    """Return what a request says about the instance: its config drive, which is a string or an object."""
    if configdrive is None:
        return {}
    allowed = ('active', 'deploy', 'rebuild') if context.minor >= 35 else ('active', 'deploy')
    if verb not in allowed:
        raise failures.InvalidInput(
            reason='Adding a config drive is only supported when setting provision state to '
            + ', '.join(name for name in allowed if name != 'deploy' or context.minor >= 73)
        )
    if isinstance(configdrive, str):
        return {'configdrive': configdrive}
    if not isinstance(configdrive, dict):
        raise failures.InvalidInput(reason='A config drive must be a string (gzipped and base64), or an object.')
    context.needs(56, 'a config drive that is an object')
    if 'vendor_data' in configdrive:
        context.needs(59, "'vendor_data' of a config drive")
    if unknown := set(configdrive).difference(_CONFIG_DRIVE_KEYS):
        raise failures.UnknownKeys(unknown, _CONFIG_DRIVE_KEYS, 'Unknown keys in the config drive')
    return {'configdrive': configdrive}


def _check_arguments(context: Context, verb: str, arguments: dict[str, Any]) -> None:
    for name in arguments:
        verbs, minor = _ARGUMENTS[name]
        if verb not in verbs:
            raise failures.InvalidInput(reason=_misplaced(name, verbs))
        context.needs(minor, f"'{name}'")
    if verb == 'service' and 'disable_ramdisk' in arguments:
        context.needs(108, "'disable_ramdisk' with service")
    if verb == 'rescue' and not arguments.get('rescue_password', '').strip():
        raise failures.InvalidInput(
            reason='A non-empty "rescue_password" is required when setting target provision state to rescue'
        )
    if verb in ('clean', 'service'):
        _check_source(f'{verb}_steps', verb, arguments)
    for name in _STEP_KEYS.keys() & arguments.keys():
        for step in arguments[name]:
            _check_step(name, step or {})


def _misplaced(name: str, verbs: Sequence[str]) -> str:
    if name == 'runbook':
        return f'"runbooks" is only valid when setting target provision state to any of {list(verbs)}'
    if name == 'disable_ramdisk':
        return 'disable_ramdisk is supported only with manual cleaning or servicing'
    return f'"{name}" is only valid when setting target provision state to {", ".join(verbs)}'


def _check_source(name: str, verb: str, arguments: dict[str, Any]) -> None:
    """Raise InvalidInput unless a request has either steps or a runbook."""
    if 'runbook' in arguments and arguments.get(name):
        raise failures.InvalidInput(reason=f'Please provide either "{name}" or a runbook, but not both.')
    if 'runbook' not in arguments and not arguments.get(name):
        raise failures.InvalidInput(reason=f'"{name}" is required when setting target provision state to {verb}')


def _check_step(name: str, step: dict[str, Any]) -> None:
    keys = {'interface', 'step', 'args', 'priority', *(() if name == 'deploy_steps' else ('order',))}
    if unknown := sorted(set(step) - keys):
        hint = spelling.hint(unknown[0], keys)
        raise failures.InvalidInput(reason=f"Invalid {name}: '{unknown[0]}' was unexpected.{hint}")
    if missing := _STEP_KEYS[name].difference(step):
        raise failures.InvalidInput(reason=f"Invalid {name}: '{min(missing)}' is a required property")
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


def _is_priority(value: Any) -> bool:
    if isinstance(value, str):
        return bool(_DIGITS.fullmatch(value))
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
