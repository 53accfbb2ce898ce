"""The OpenAPI documents."""

import functools
import http
import re
from collections.abc import Iterator
from typing import Any

from ironic_traits import failures as common_failures
from ironic_traits import policies
from ironic_traits.api import rendering
from ironic_traits.api.description import paths
from ironic_traits.api.description.bare_metal import BareMetal
from ironic_traits.api.description.operations import Operation, operations
from ironic_traits.api.description.placement import Placement
from ironic_traits.api.description.types import Schema
from ironic_traits.api.microversions import text
from ironic_traits.api.placement.protocol import PLACEMENT
from ironic_traits.api.protocol import Protocol
from ironic_traits.api.v1.protocol import BARE_METAL
from ironic_traits.failures import Failure
from ironic_traits.placement import failures as placement_failures
from ironic_traits.version import version

#: {name of an API: (its Protocol, the class that describes its operations)}.
APIS = {each.name: (each, kind) for each, kind in ((BARE_METAL, BareMetal), (PLACEMENT, Placement))}
#: {[api] auth_strategy: how clients authenticate}. Other strategies need nothing from the client.
_SECURITY = {
    'keystone': {'type': 'apiKey', 'in': 'header', 'name': 'X-Auth-Token', 'description': 'A token of keystone.'},
    'http_basic': {'type': 'http', 'scheme': 'basic'},
}
_PARAMETER = re.compile(r'{(\w+)}')


def document(api: str, minor: int, auth_strategy: str, prefix: bool = True) -> dict[str, Any]:
    """Return the description of an API at a version.

    :param api: a key of APIS.
    :param auth_strategy: [api] auth_strategy.
    :param prefix: whether the paths of the Placement API begin with /placement.
    """
    protocol, kind = APIS[api]
    described = kind(minor)
    prefix_length = 0 if prefix else len(protocol.prefix)
    by_path: dict[str, dict] = {}
    for each in _operations(protocol):
        if each.route.since <= minor:
            path = each.path[prefix_length:] or '/'
            by_path.setdefault(path, {})[each.method.lower()] = _described(protocol, described, each, minor)
    return {
        'openapi': '3.1.0',
        'info': _info(protocol, minor),
        'servers': [{'url': '.'}],
        'paths': by_path,
        'components': {
            'schemas': described.schemas,
            'responses': {'Failure': _response('A failure.', {rendering.CONTENT_TYPE: protocol.failure_schema(minor)})},
            'parameters': {'Version': _version_parameter(protocol, minor)},
            'securitySchemes': _schemes(auth_strategy),
        },
        'security': [{name: []} for name in _schemes(auth_strategy)],
    }


def _operations(protocol: Protocol) -> list[Operation]:
    """Return the operations of an API."""
    other = PLACEMENT.prefix
    return [each for each in operations() if each.path.startswith(other) == (protocol is PLACEMENT)]


def _info(protocol: Protocol, minor: int) -> Schema:
    return {
        'title': protocol.title,
        'version': text(minor),
        'summary': f'The {protocol.title} {text(minor)} of ironic-traits {version()}',
        'license': {'name': 'Apache 2.0', 'identifier': 'Apache-2.0'},
    }


def _version_parameter(protocol: Protocol, minor: int) -> Schema:
    headers = {name.lower(): value for name, value in protocol.headers(minor, False)}
    value = headers[protocol.version_header.lower()]
    return {
        'name': protocol.version_header,
        'in': 'header',
        'required': False,
        'description': 'The version that this document describes. Without it, the lowest version applies.',
        'schema': {'type': 'string', 'enum': [value]},
    }


def _schemes(auth_strategy: str) -> dict[str, Schema]:
    return {name: scheme for name, scheme in _SECURITY.items() if name == auth_strategy}


def _described(protocol: Protocol, described: BareMetal | Placement, operation: Operation, minor: int) -> Schema:
    route, path = operation.route, operation.path
    body = described.body(route)
    description: Schema = {
        'operationId': f'{operation.method.lower()}{re.sub(r"[^a-z0-9]+", "_", path)}'.rstrip('_'),
        'summary': _summaries().get(next(iter(route.rules), ''), 'Show the versions.'),
        'tags': [_tag(protocol, path)],
        'parameters': [
            {'$ref': '#/components/parameters/Version'},
            *(paths.parameter(operation.method, name, minor) for name in _PARAMETER.findall(path)),
            *described.query(operation),
        ],
        'responses': _responses(protocol, described, operation),
        'x-since': text(max(route.since, protocol.minimum)),
        'x-policy-rules': list(route.rules),
    }
    if body:
        schema, is_required = body
        description['requestBody'] = {'required': is_required, 'content': {rendering.CONTENT_TYPE: {'schema': schema}}}
    if path.removeprefix(protocol.prefix) in protocol.public:
        description['security'] = []
    return description


def _tag(protocol: Protocol, path: str) -> str:
    """Return the tag of an operation: the first segment of its path below the root of the API."""
    segments = path.removeprefix(protocol.prefix).removeprefix('/v1').split('/')
    return next(filter(None, segments), 'versions')


def _responses(protocol: Protocol, described: BareMetal | Placement, operation: Operation) -> dict[str, Schema]:
    responses = {
        str(status): _response(http.HTTPStatus(status).phrase, content)
        for status, content in described.responses(operation.route).items()
    }
    if operation.method == 'GET' and protocol.has_tags:
        responses['304'] = _response('The client has the response already: its If-None-Match has the ETag.', {})
    failures = dict.fromkeys(map(str, _statuses(protocol)), {'$ref': '#/components/responses/Failure'})
    # The body is that of the middleware that authenticates.
    failures['401'] = _response(http.HTTPStatus.UNAUTHORIZED.phrase, {})
    return responses | failures


def _response(description: str, content: dict[str, Schema]) -> Schema:
    response: Schema = {'description': description}
    if content:
        response['content'] = {name: {'schema': schema} for name, schema in content.items()}
    return response


@functools.cache
def _statuses(protocol: Protocol) -> list[int]:
    """Return the statuses of the failures of an API, sorted. A 500 is a bug, which nothing describes."""
    modules = [common_failures.__name__]
    if protocol is PLACEMENT:
        modules.append(placement_failures.__name__)
    return sorted({each.status for each in _subclasses(Failure) if each.__module__.startswith(tuple(modules))} - {500})


def _subclasses(base: type[Failure]) -> Iterator[type[Failure]]:
    for each in base.__subclasses__():
        yield each
        yield from _subclasses(each)


@functools.cache
def _summaries() -> dict[str, str | None]:
    """Return the descriptions of policy rules: {name: sentence}."""
    return {rule.name: rule.description for rule in policies.list_rules()}
