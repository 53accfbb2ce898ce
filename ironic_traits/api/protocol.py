"""What differs between the APIs outside of the routes: versions, headers, failures.

``api.v1.protocol`` and ``api.placement.protocol`` have one each. ``api.v1.protocol_selection`` chooses between them.
"""

import dataclasses
import functools
from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from ironic_traits.api import microversions
from ironic_traits.failures import Failure

#: Path of the description of the APIs (``api.description``).
DESCRIPTION = '/openapi.json'


@dataclasses.dataclass(frozen=True, eq=False)
class Protocol:
    """The conventions of one API.

    :ivar name: label of the API in the metrics.
    :ivar prefix: path prefix of the API.
    :ivar title: its name, for people.
    :ivar minimum: the minor version of a request that names none.
    :ivar maximum: the latest minor version.
    :ivar public: paths below the prefix that need no authentication.
    :ivar negotiate: function from the headers of a request to the minor version; raises a Failure.
    :ivar names_additions: function from the headers of a request to whether it names the version of our additions;
        raises a Failure.
    :ivar version_header: name of the header of a request that names the version.
    :ivar headers: function from the version of a request to the version headers of each response, [(name, value), …].
    :ivar vary: the header of each response that names the headers of a request with the version.
    :ivar cached: the Cache-Control of responses that depend on who asks, [(name, value)].
    :ivar failure: function from a Failure and the WSGI environ to (body, content type).
    :ivar failure_schema: function from the minor version to the JSON schema of this body.
    :ivar takes_options: whether the response to every OPTIONS request is 200.
    :ivar has_tags: whether responses to GET requests have ETags.
    """

    name: str
    title: str
    prefix: str
    minimum: int
    maximum: int
    public: tuple[str, ...]
    negotiate: Callable[[dict[str, str]], int]
    names_additions: Callable[[dict[str, str]], bool]
    version_header: str
    headers: Callable[[int, bool], list[tuple[str, str]]]
    vary: tuple[str, str]
    cached: list[tuple[str, str]]
    failure: Callable[[Failure, WSGIEnvironment], tuple[bytes, str]]
    failure_schema: Callable[[int], dict]
    takes_options: bool
    has_tags: bool

    def version(self, environ: WSGIEnvironment) -> tuple[int, bool]:
        """Return the minor version of a request, and whether it names the version of our additions.

        :raises failures.Failure: the version is not supported, or malformed.
        """
        return _version(self, *(environ.get(name) for name in _VERSION_HEADERS.values()))

    def is_public(self, serve: str, path: str) -> bool:
        """Whether a path needs no authentication.

        :param serve: the option [api] serve.
        """
        return path.removeprefix('' if serve == 'placement' else self.prefix) in self.public


#: {name in lower case of a header that has a version: its key in the WSGI environ}.
_VERSION_HEADERS = {
    name.lower(): f'HTTP_{name.upper().replace("-", "_")}' for name in (microversions.HEADER, 'OpenStack-API-Version')
}


# Clients send few different headers.
@functools.lru_cache(maxsize=256)
def _version(protocol: Protocol, *values: str | None) -> tuple[int, bool]:
    headers = {name: value for name, value in zip(_VERSION_HEADERS, values, strict=True) if value is not None}
    return protocol.negotiate(headers), protocol.names_additions(headers)
