"""The Ironic of a cloud of clouds.yaml, read through openstacksdk."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ironic_traits import resources
from ironic_traits.context import Context
from ironic_traits.inventory.holds import mirror_claims

if TYPE_CHECKING:
    import requests

#: The lowest version that has traits.
MINIMUM = 37
#: The highest version with a field that is mirrored.
MAXIMUM = max(
    field.since
    for each in (resources.NODES, resources.PORTS, resources.PORTGROUPS, resources.CHASSIS)
    for field in each.fields
)
_HEADER = 'X-OpenStack-Ironic-API-Version'
#: Maximum number of characters of a response that a message quotes.
_MAX_TEXT = 300
_MAX_DIGITS = 400
#: A JSON object of a cloud. Nothing is known about its values before ``documents`` has checked them.
Document = Mapping[str, object]


class Unreadable(Exception):
    """The cloud did not respond, or not as expected. The message says why, as a sentence."""


class Unsent(Unreadable):
    """The cloud did not execute the request: it cannot be reached, or the user cannot authenticate."""


class NotInCloud(Unreadable):
    """The cloud does not have the item that was requested, or the marker."""


class NotAllowed(Unreadable):
    """The user of the mirror may not do what was requested."""


#: {status: what ``Cloud.get`` raises}.
_FAILURES = {403: NotAllowed, 404: NotInCloud}
#: Ironic's message, in a 500 response, if a token has project scope, and the policy rule needs system scope.
_SCOPE = 'requires a scope of'


class Answer(NamedTuple):
    """How a cloud has answered a request that changes something in the cloud. If it is neither done nor refused, its
    fate is unknown: the cloud may have executed it.

    :ivar status: None without a response.
    :ivar text: the error message, which may be ''.
    :ivar document: the changed item; {} without one.
    """

    status: int | None
    text: str
    document: Document = {}

    @property
    def is_done(self) -> bool:
        """Whether the cloud has executed the request."""
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_refused(self) -> bool:
        """Whether the cloud has certainly not executed the request."""
        return self.status is not None and 400 <= self.status < 500

    @property
    def reason(self) -> str:
        """Why it is not done, as a sentence."""
        return self.text if self.status is None else f'The response is {self.status}: {self.text}'


class Cloud:
    """The Ironic of one cloud.

    :param name: name of the cloud in clouds.yaml.
    :param timeout: seconds that a request may take.
    :ivar endpoint: its URL; None before ``connect``.
    :ivar version: the version of the API that is used, such as ``1.109``; None before ``connect``.
    :ivar requests: number of requests so far.
    """

    def __init__(self, name: str, timeout: float) -> None:
        self.name = name
        self.endpoint: str | None = None
        self.version: str | None = None
        self.requests = 0
        self._timeout = timeout
        # A proxy of openstacksdk, which is imported only here.
        self._ironic: Any = None

    def connect(self) -> None:
        """Authenticate, and choose the version.

        :raises Unreadable: the cloud is not in clouds.yaml, does not respond, or is too old.
        """
        # Imported here: openstacksdk takes a second to import, and is an extra of this package.
        import openstack

        self.close()
        with _understood():
            self._ironic = openstack.connect(cloud=self.name, api_timeout=self._timeout).baremetal
            self.endpoint = self._ironic.get_endpoint()
        if not self.endpoint:
            raise Unreadable('It has no endpoint of the Bare Metal service.')
        self.version = f'1.{self._negotiated()}'

    def close(self) -> None:
        """Forget the connection, so that ``connect`` authenticates again."""
        ironic, self._ironic = self._ironic, None
        if ironic is not None:
            ironic.session.session.close()

    @property
    def minor(self) -> int:
        """The number after the dot of ``version``."""
        return int((self.version or '1.0').partition('.')[2])

    @property
    def is_connected(self) -> bool:
        """Whether ``connect`` has succeeded, and ``close`` was not called since."""
        return self._ironic is not None and self.version is not None

    def get(self, path: str, **query: str | int) -> Document:
        """Return the document at a path below /v1.

        :raises NotInCloud: the status is 404.
        :raises NotAllowed: the status is 403.
        :raises Unreadable: the cloud did not respond with a document.
        """
        response = self._request('GET', path, params=query)
        if response.status_code != 200:
            text = message(response)
            kind = NotAllowed if _SCOPE in text else _FAILURES.get(response.status_code, Unreadable)
            raise kind(f'The response to GET {path} is {response.status_code}: {text}')
        try:
            document = response.json(parse_int=_integer)
        except (ValueError, RecursionError):
            raise Unreadable(f'The response to GET {path} is not JSON.') from None
        if not isinstance(document, dict):
            raise Unreadable(f'The response to GET {path} is not a JSON object.')
        return document

    def send(
        self, method: str, path: str, timeout: float | None = None, patch: Sequence[Document] | None = None
    ) -> Answer:
        """Send a request that changes something at a path below /v1.

        :param timeout: seconds that it may take; None for the default of this cloud.
        :param patch: its body, a JSON Patch; None for no body.
        :raises Unsent: the cloud cannot be reached, or the user cannot authenticate. Nothing was executed.
        """
        try:
            response = self._request(method, path, min(timeout or self._timeout, self._timeout), json=patch)
        except Unsent:
            raise
        except Unreadable as error:
            return Answer(None, str(error))
        document = {}
        with contextlib.suppress(ValueError, RecursionError):
            document = response.json()
        return Answer(response.status_code, message(response), document if isinstance(document, dict) else {})

    def _request(self, method: str, path: str, timeout: float | None = None, **arguments: Any) -> 'requests.Response':
        """Send a request once. Return the response, also for an error status.

        :param arguments: of requests.request, as they are.
        """
        self.requests += 1
        headers = {_HEADER: self.version} if self.version else {}
        with _understood():
            # Without retries of openstacksdk, which come at once. The mirror waits before it retries.
            response: requests.Response = self._ironic.request(
                path,
                method,
                headers=headers,
                timeout=timeout or self._timeout,
                raise_exc=False,
                connect_retries=0,
                status_code_retries=0,
                **arguments,
            )
            if response.status_code == 403:
                # The user may get the role later: the next request gets a new token.
                self._ironic.session.invalidate()
            return response

    def _negotiated(self) -> int:
        # Any: what is odd raises one of the exceptions below.
        document: Any = self.get('/')
        if 'versions' in document:
            # The list of versions. With http_basic, openstacksdk does not add the version to the endpoint.
            self._ironic.endpoint_override = self.endpoint = f'{str(self.endpoint).rstrip("/")}/v1'
            document = self.get('/')
        try:
            highest = int(document['version']['version'].partition('.')[2])
        except (KeyError, TypeError, AttributeError, ValueError):
            raise Unreadable(f'{self.endpoint} is not a Bare Metal API.') from None
        if highest < MINIMUM:
            raise Unreadable(f'Its API ends at version 1.{highest}: 1.{MINIMUM} is needed.')
        return min(highest, MAXIMUM)


def _integer(text: str) -> int:
    """Return an integer. Python refuses one of thousands of digits, which would make a whole page unreadable."""
    return int(text) if len(text) < _MAX_DIGITS else 10**_MAX_DIGITS


def message(response: 'requests.Response') -> str:
    """Return the error message of a response, or else its text, shortened and without line breaks."""
    text = re.sub(r'<[^>]*>', ' ', response.text)
    with contextlib.suppress(ValueError, TypeError, KeyError):
        document = response.json()
        if 'error' in document:
            # An error of the middleware for http_basic and keystone.
            text = str(document['error']['message'])
        error = document['error_message']
        error = json.loads(error) if isinstance(error, str) else error
        text = str(error['faultstring'])
    return ' '.join(text.split())[:_MAX_TEXT]


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """Raise Unreadable for the exceptions of openstacksdk and keystoneauth."""
    import keystoneauth1.exceptions
    import openstack.exceptions

    try:
        yield
    except (keystoneauth1.exceptions.ClientException, openstack.exceptions.SDKException, ValueError) as error:
        # requests raises ValueError for an endpoint that is not a URL.
        text = ' '.join(str(error).split()) or type(error).__name__
        raise (Unsent if _is_unsent(error) else Unreadable)(text[:_MAX_TEXT]) from error


def _is_unsent(error: Exception) -> bool:
    """Whether no connection to the cloud could be opened, or the user could not authenticate."""
    import keystoneauth1.exceptions
    import requests.exceptions
    import urllib3.exceptions

    if isinstance(error, keystoneauth1.exceptions.HttpError):
        # An error response of keystone. For those of Ironic, no exception is raised.
        return True
    cause = error.__cause__ or error.__context__
    reason = getattr(cause.args[0], 'reason', None) if cause and cause.args else None
    return isinstance(cause, requests.exceptions.ConnectTimeout) or isinstance(
        reason, urllib3.exceptions.NewConnectionError | urllib3.exceptions.ConnectTimeoutError
    )


def connected(context: Context, name: str) -> Cloud:
    """Return a connected cloud. All requests of a process share the connection.

    :raises Unsent: the cloud cannot be reached.
    """
    cloud = context.service.clouds.get(name)
    if cloud is None:
        cloud = Cloud(name, mirror_claims.seconds(context.conf)['request'])
        try:
            cloud.connect()
        except Unreadable as error:
            raise Unsent(str(error)) from error
        context.service.clouds[name] = cloud
    return cloud
