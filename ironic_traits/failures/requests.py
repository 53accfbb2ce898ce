"""Failures of requests whatever they concern: their form, their version, who sends them, and outages."""

from collections.abc import Collection, Iterable

from ironic_traits import spelling
from ironic_traits.failures.base import Failure


class UnexpectedArguments(Failure):
    """Query parameters that the route does not have.

    :param unknown: their names.
    :param names: the parameters that it has.
    """

    status = 400
    code = 'baremetal.unexpected_arguments'
    text = 'Unexpected arguments: {unknown}.{hint}'

    def __init__(self, unknown: Iterable[str], names: Collection[str]) -> None:
        unknown = sorted(unknown)
        super().__init__(unknown=', '.join(unknown), hint=spelling.hint(unknown, names))


class UnknownKeys(Failure):
    """Keys that an object in a request may not have.

    :param unknown: the keys.
    :param names: the keys that it may have.
    :param what: beginning of the message.
    """

    status = 400
    code = 'baremetal.invalid_input'
    text = '{what}: {unknown}.{hint}'

    def __init__(self, unknown: Iterable[str], names: Collection[str], what: str = 'Unknown fields') -> None:
        unknown = sorted(unknown)
        super().__init__(what=what, unknown=', '.join(unknown), hint=spelling.hint(unknown, names))


class InvalidIdent(Failure):
    """A text in the path that can be neither a uuid nor a name."""

    status = 400
    code = 'baremetal.invalid_input'
    text = 'Expected UUID or name for node: {ident}'
    routing = True


class Unauthorized(Failure):
    """The request is not authenticated."""

    status = 401
    code = 'baremetal.unauthorized'
    text = 'The request needs authentication: a valid token, or a user name and its password.'
    routing = True


class Forbidden(Failure):
    """Policy does not allow the request."""

    status = 403
    code = 'baremetal.forbidden'
    text = 'Access was denied to the following resource: {rule}{hint}'

    def __init__(self, rule: str, hint: str = '') -> None:
        super().__init__(rule=rule, hint=hint)


class ResourceNotFound(Failure):
    """The requested version has no resource at this URL."""

    status = 404
    code = 'baremetal.not_found'
    text = 'Resource could not be found.{hint}'


class AddressNotFound(Failure):
    """No version of the API has a resource at this URL."""

    status = 404
    code = 'baremetal.not_found'
    text = 'There is no resource at this URL.{hint}'
    routing = True


class NotImplementedHere(Failure):
    """Ironic has a resource at this URL, and this service has not."""

    status = 404
    code = 'baremetal.not_implemented'
    text = 'ironic-traits does not implement {path}.'


class MethodNotAllowed(Failure):
    """The resource does not support the method, or not at the requested version.

    :param allowed: the methods that it supports.
    """

    status = 405
    code = 'baremetal.method_not_allowed'
    routing = True

    def __init__(
        self, reason: str = 'The resource at this URL does not support this method.', allowed: Iterable[str] = ()
    ) -> None:
        super().__init__(reason=reason)
        self.allow = ', '.join(allowed)


class NotAcceptable(Failure):
    """The Accept header excludes JSON."""

    status = 406
    code = 'baremetal.not_acceptable'
    text = 'Responses are application/json, which the Accept header excludes. The page for browsers is at /ui/.'
    routing = True


class VersionNotSupported(Failure):
    """The requested version is malformed or not supported."""

    status = 406
    code = 'baremetal.version.not_supported'
    routing = True


class VersionTooLow(Failure):
    """The request uses a feature of a later version."""

    status = 406
    code = 'baremetal.version.too_low'
    text = (
        'Request not acceptable: {what} needs API version {version} (request it with the header '
        'X-OpenStack-Ironic-API-Version: {version}). The minimal required API version should be {version}'
    )


class VersionTooHigh(Failure):
    """The request uses a feature that later versions have no more."""

    status = 406
    code = 'baremetal.version.too_high'
    text = 'Request not acceptable: {what} needs API version {version} or earlier.'


class PreconditionFailed(Failure):
    """The If-Match of the request does not have the ETag of the resource.

    :param path: of the resource.
    :param tag: its ETag; None if it does not exist.
    """

    status = 412
    code = 'baremetal.precondition_failed'

    def __init__(self, path: str, tag: str | None) -> None:
        if tag is None:
            super().__init__(reason=f'There is no {path} yet, and If-Match allows only to change it.')
            return
        again = 'Read it again, then repeat the request.'
        super().__init__(reason=f'The ETag of {path} is "{tag}" now, which If-Match does not have. {again}')


class IfMatchUnsupported(Failure):
    """The route does not support If-Match, and must not ignore it."""

    status = 400
    code = 'baremetal.if_match_unsupported'
    text = (
        '{route} does not support If-Match. Requests to a single resource of the Bare Metal API do; resources of '
        'Placement have generations instead.'
    )


class BodyTooLarge(Failure):
    """The request body is larger than [api] max_request_body_size."""

    status = 413
    code = 'baremetal.body_too_large'
    text = 'The request body is larger than {limit} bytes.'


class TooManyValues(Failure):
    """The request body has more values than [api] max_request_body_values."""

    status = 413
    code = 'baremetal.too_many_values'
    text = 'The request body has more than {limit} JSON values.'


class TooLargeForDatabase(Failure):
    """The request needs a statement that the database refuses because of its size."""

    status = 413
    code = 'baremetal.too_large_for_database'
    text = 'The request is too large for the database. An operator can raise max_allowed_packet of its server.'


class UnsupportedMediaType(Failure):
    """A request body without a JSON Content-Type, which a web page may have made a browser send."""

    status = 415
    code = 'baremetal.unsupported_media_type'
    text = 'The body was sent with {content_type}. Send it with "Content-Type: application/json".'


class TokenOutdated(Failure):
    """A token of the change feed with which changes would be missed."""

    status = 410
    code = 'baremetal.changes.token_outdated'
    text = 'The token is too old, or not of this service. Get one with GET /v1/changes, then read everything again.'


class HostNotAllowed(Failure):
    """The Host header does not have a name of the service. This is checked only under noauth."""

    status = 400
    code = 'baremetal.host_not_allowed'
    text = "The host name '{host}' is not one of this service. If it should be, add it to [api] allowed_hosts."


class OriginNotAllowed(Failure):
    """A web page of another origin sends a write. This is checked under noauth and http_basic."""

    status = 403
    code = 'baremetal.origin_not_allowed'
    text = "A web page of the origin '{origin}' may not write. If it should, add the origin to [cors] allowed_origin."


class LoginRefused(Failure):
    """Keystone refused the user, the password or the scope of a login of the web page."""

    status = 401
    code = 'baremetal.login_refused'
    text = 'Keystone refused the login: check name, password, project and domains.'


class Overloaded(Failure):
    """Nearly all threads of the process are blocked."""

    status = 503
    code = 'baremetal.overloaded'
    text = 'Too many requests are waiting. Try again in a moment.'
    retry_after = 1


class TooManyStreams(Failure):
    """The process has as many streams of changes as it may have."""

    status = 503
    code = 'baremetal.changes.too_many_streams'
    text = 'This process of the service has {limit} streams of changes, and no more are allowed. Try again later.'
    retry_after = 30


class StreamsUnsupported(Failure):
    """The web server has no threads to spare for streams."""

    status = 406
    code = 'baremetal.changes.no_streams'
    text = (
        'The web server of this service has too few threads for streams of changes. Ask for changes with '
        '"Accept: application/json" and since=TOKEN instead.'
    )


class DatabaseUnavailable(Failure):
    """The database cannot be reached, or a write timed out. The write may or may not have taken effect."""

    status = 503
    code = 'baremetal.database_unavailable'
    text = 'The database is not available at the moment. Check whether the request took effect before you retry it.'
    # Another host of the database has taken over after that time.
    retry_after = 5


class IdentityUnavailable(Failure):
    """Keystone cannot validate the token at the moment."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'The token cannot be validated at the moment: keystone does not respond.'
    routing = True


class UsersUnavailable(Failure):
    """The file of users cannot be read."""

    status = 503
    code = 'baremetal.identity_unavailable'
    text = 'The file of users cannot be read. The log has the cause, with the request id of this response.'
    routing = True


class NovaUnavailable(Failure):
    """The flavors could not be read from nova."""

    status = 503
    code = 'baremetal.nova_unavailable'
    text = 'The flavors could not be read from nova: it did not respond, or its response is no list of flavors.'


class GlanceUnavailable(Failure):
    """An image could not be looked up in Glance."""

    status = 503
    code = 'baremetal.glance_unavailable'
    text = 'Image {image} could not be looked up: Glance did not respond, or its response is not an image.'
