"""The parts of Ironic's API that this service does not have.

Their routes are the operations of the rules in ``policies.unserved``. The method, the policy and the version of a
request are checked as Ironic does. A request that passes gets a 404, with a message that says that the part is not
implemented.
"""

import functools

from ironic_traits import failures
from ironic_traits.api import body
from ironic_traits.api.v1 import access
from ironic_traits.context import Context
from ironic_traits.inventory.nodes import nodes

#: {policy rule: (the minor version that brought its routes, the status before)}. Of the others, the first had them.
_SINCE = {
    'baremetal:events:post': (54, 404),
    'baremetal:driver:ipa_lookup': (22, 404),
    'baremetal:node:ipa_heartbeat': (22, 404),
}
#: The same of rules that Ironic checks before the version.
_SINCE_AFTER_POLICY = {
    'baremetal:node:set_raid_state': (12, 406),
    'baremetal:driver:get_raid_logical_disk_properties': (12, 406),
}


@functools.cache
def _routes() -> list[tuple[list[str], str, str]]:
    """Return the segments of the path, the method and the policy rule of each route."""
    # Imported late: policy is needed only with an enforcer, and takes a while to import.
    from ironic_traits.policies import unserved

    return [
        (operation['path'].split('/')[1:], operation['method'], rule.name)
        for rule in unserved.RULES
        for operation in rule.operations
    ]


def check(context: Context, method: str, segments: list[str]) -> None:
    """Raise the failure of a request that has no route, if its path leads to a part of Ironic's API.

    :param segments: the segments of the path, the first of which is v1.
    :raises failures.MethodNotAllowed: Ironic has no such method there, or no such word below the states of a node.
    :raises failures.Failure: policy or the version does not allow the request, or there is no such node.
    :raises failures.NotImplementedHere: Ironic has a route there.
    """
    rules = {known: rule for path, known, rule in _routes() if _matches(path, segments)}
    path = f'/{"/".join(segments)}'
    if method in rules:
        _admit(context, rules[method], f'{method} {path}', segments)
        raise failures.NotImplementedHere(path=path)
    match segments:
        case [_, 'nodes', _, 'states' | 'management', *_] | [_, 'drivers', _, 'raid', *_]:
            rules = rules or {'': ''}
    if rules:
        raise failures.MethodNotAllowed(
            f'ironic-traits does not implement {method} {path}.', sorted(filter(None, rules))
        )


def _matches(path: list[str], segments: list[str]) -> bool:
    """Whether a path with placeholders matches the segments of another."""
    return len(path) == len(segments) and all(
        known.startswith('{') or known == segment for known, segment in zip(path, segments, strict=True)
    )


def _admit(context: Context, rule: str, what: str, segments: list[str]) -> None:
    """Raise unless the version and policy allow a request."""
    _check_version(context, what, *_SINCE.get(rule, (1, 404)))
    if segments[1] == 'nodes':
        grant = access.node(context, context.limit_to(rule), segments[2])
        # Without rules to check, the node was not read.
        nodes.uuid_of(context, grant.ident)
    else:
        context.can(rule)
    _check_version(context, what, *_SINCE_AFTER_POLICY.get(rule, (1, 404)))
    if segments[1] == 'heartbeat':
        _check_heartbeat(context)


def _check_version(context: Context, what: str, since: int, status: int) -> None:
    if status == 406:
        context.needs(since, what)
    if context.minor < since:
        raise failures.ResourceNotFound(hint=f' {what} needs API version 1.{since}.')


def _check_heartbeat(context: Context) -> None:
    """Raise InvalidInput if Ironic would refuse the heartbeat itself."""
    document = body.parse(context, body.content(context) or b'{}')
    if not isinstance(document, dict) or document.get('callback_url') is None:
        raise failures.InvalidInput(reason='Missing mandatory parameter: callback_url')
    if document.get('agent_token') is None:
        raise failures.InvalidInput(reason='Agent token is required for heartbeat processing.')
