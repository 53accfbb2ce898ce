"""Another Placement: its address, its authentication, its version, and requests to it."""

import contextlib
import re
import threading
import time
import typing
from collections.abc import Callable, Iterator

from ironic_traits import extras

#: The first and the last version that this code can use. The first one brought generations of consumers.
MINIMUM, MAXIMUM = 28, 39
#: The versions that allow providers to move to another parent, and that brought types of consumers.
MOVES_SINCE, TYPES_SINCE = 37, 38
#: Seconds that a request may take.
TIMEOUT = 120
#: How often a request is repeated if there is no connection, or a proxy cannot reach the server.
_RETRIES = 3
_UNAVAILABLE = (429, 502, 503, 504)
#: How often a write is tried, each time with the current generation.
_ATTEMPTS = 8
#: Seconds between attempts of a write that has failed.
_PAUSE = 0.5
#: Maximum number of characters of a response that a message quotes.
_MAX_TEXT = 300


if typing.TYPE_CHECKING:
    from requests import Response


class Unusable(Exception):
    """The other Placement did not respond, or not as expected. The message says why, as a sentence."""


class Refused(Unusable):
    """The response is an error.

    :ivar status: status of the response.
    :ivar code: code of the error; '' if it has no code.
    """

    def __init__(self, method: str, path: str, response: 'Response') -> None:
        self.status = response.status_code
        self.code, text = _error(response)
        super().__init__(f'The response to {method} {path} is {self.status}: {text[:_MAX_TEXT]}')

    @property
    def is_lost_race(self) -> bool:
        """Whether the request may succeed with the current generation.

        After a lost race for traits, the response is 500 on PostgreSQL. On SQLite it is 500 after any lost race.
        """
        return self.code == 'placement.concurrent_update' or self.status >= 500

    @property
    def is_fatal(self) -> bool:
        """Whether other requests will fail, too: the user lacks a role, or the server fails."""
        return self.status in (401, 403) or self.status >= 500


T = typing.TypeVar('T')


def repeated(write: Callable[[T], None], present: T, read: Callable[[Refused], T], *codes: str) -> None:
    """Write. After a lost race, read what is there, and write again.

    :param write: function that takes what is there, and raises Refused.
    :param present: what was read there.
    :param read: function that takes the Refused of the last attempt, and reads again.
    :param codes: codes of further errors after which another attempt may succeed.
    :raises Refused: the last attempt failed, or none can succeed.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            write(present)
            return
        except Refused as refused:
            if not left or not (refused.is_lost_race or refused.code in codes):
                raise
            if refused.status >= 500:
                time.sleep(_PAUSE)
            present = read(refused)


def _error(response: 'Response') -> tuple[str, str]:
    """Return (code, text) of an error in the format of Placement, or in any other format."""
    with contextlib.suppress(ValueError, KeyError, TypeError, IndexError, AttributeError):
        error = response.json()['errors'][0]
        return error.get('code', ''), ' '.join(error['detail'].split()).removeprefix(_PREFIXES.get(error['status'], ''))
    return '', ' '.join(re.sub(r'<[^>]*>', ' ', response.text).split())


#: The texts before each message of Placement.
_PREFIXES = {
    400: 'The server could not comply with the request since it is either malformed or otherwise incorrect. ',
    404: 'The resource could not be found. ',
    409: 'There was a conflict when trying to complete your request. ',
}


class Remote:
    """The Placement at a URL, or of a cloud.

    :param url: URL of Placement; None for the URL in the cloud's catalog.
    :param cloud: name in clouds.yaml; None for no authentication, or for a token.
    :param token: for the header X-Auth-Token, without a cloud; None to send no token.
    :raises Unusable: it does not respond, or is too old.
    :ivar url: URL of Placement.
    :ivar minor: the minor version that is used.
    :ivar requests: number of requests so far.
    """

    def __init__(self, url: str | None, cloud: str | None = None, token: str | None = None) -> None:
        with _understood():
            self._adapter = _of_cloud(cloud, url) if cloud else _at(url, token)
            self.url = url or self._adapter.get_endpoint()
        if not self.url:
            raise Unusable(f'Cloud {cloud} has no endpoint of the Placement service.')
        self.requests = 0
        self._lock = threading.Lock()
        self.minor = 0
        # The first request is not repeated, so that a wrong URL is reported at once.
        self._retries = 0
        self.minor = self._negotiate()
        self._retries = _RETRIES

    def get(self, path: str) -> dict[str, typing.Any]:
        """Return the document at a path.

        :raises Refused: the response is an error.
        :raises Unusable: there is no response, or it is not a JSON object.
        """
        document = self.send('GET', path)
        if not isinstance(document, dict):
            raise Unusable(f'The response to GET {path} is not a JSON object.')
        return document

    def send(self, method: str, path: str, document: typing.Any = None, minor: int | None = None) -> typing.Any:
        """Send a request, and return the document of the response; None if it is empty.

        :param minor: the minor version; None for ``minor``.
        :raises Refused: the response is an error.
        :raises Unusable: there is no response, or it is not JSON.
        """
        with self._lock:
            self.requests += 1
        with _understood():
            response = self._adapter.request(
                path,
                method,
                json=document,
                headers={'OpenStack-API-Version': f'placement 1.{self.minor if minor is None else minor}'},
                raise_exc=False,
                connect_retries=self._retries,
                status_code_retries=self._retries,
                retriable_status_codes=_UNAVAILABLE,
            )
        if response.status_code >= 300:
            raise Refused(method, path, response)
        try:
            return response.json() if response.content else None
        except ValueError:
            raise Unusable(f'The response to {method} {path} is not JSON.') from None

    def _negotiate(self) -> int:
        document = self.get('/')
        try:
            highest = max(int(version['max_version'].removeprefix('1.')) for version in document['versions'])
        except (KeyError, TypeError, AttributeError, ValueError):
            raise Unusable(f'{self.url} is not a Placement API.') from None
        if highest < MINIMUM:
            raise Unusable(f'The Placement API of {self.url} ends at version 1.{highest}: 1.{MINIMUM} is needed.')
        return min(highest, MAXIMUM)


def _at(url: str | None, token: str | None) -> typing.Any:
    """Return an adapter for a URL."""
    from keystoneauth1 import adapter, noauth, session, token_endpoint

    auth = token_endpoint.Token(url, token) if token else noauth.NoAuth(endpoint=url)
    return adapter.Adapter(session.Session(auth, timeout=TIMEOUT), service_type='placement', endpoint_override=url)


def _of_cloud(cloud: str, url: str | None) -> typing.Any:
    """Return an adapter for a cloud in clouds.yaml.

    :param url: URL of Placement; None for the URL in the catalog.
    """
    try:
        import openstack.config
    except ImportError:
        raise Unusable(f'openstacksdk is not installed. Run: {extras.installation("mirror")}') from None
    from keystoneauth1 import adapter

    region: typing.Any = openstack.config.get_cloud_region(cloud=cloud, api_timeout=TIMEOUT)
    return adapter.Adapter(
        region.get_session(),
        service_type='placement',
        interface=region.get_interface('placement'),
        region_name=region.get_region_name('placement'),
        endpoint_override=url or region.get_endpoint('placement'),
    )


@contextlib.contextmanager
def _understood() -> Iterator[None]:
    """Raise Unusable for the exceptions of keystoneauth and openstacksdk."""
    import keystoneauth1.exceptions

    try:
        yield
    except Unusable:
        raise
    except (keystoneauth1.exceptions.ClientException, ValueError) as error:
        # requests raises ValueError for an invalid URL.
        raise Unusable(_text(error)) from error
    except Exception as error:
        # Compared by name, because openstacksdk is imported only for a cloud. For a cloud without a password,
        # keystoneauth raises a bare Exception.
        if type(error) is Exception or type(error).__module__.partition('.')[0] == 'openstack':
            raise Unusable(_text(error)) from error
        raise


def _text(error: BaseException) -> str:
    return (' '.join(str(error).split()) or type(error).__name__)[:_MAX_TEXT]
