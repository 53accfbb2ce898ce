"""The requests of the client library, and their failures."""

import json
import urllib.parse
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

import requests
from keystoneauth1 import adapter

SERVICE_TYPE = 'baremetal'
#: The default version. For a service that does not have it, the client uses the latest version of the service. Trait
#: filters need 1.37, inspection data 1.81, inspection rules 1.96, and the other additions 1.38.
VERSION = '1.115'
#: The minor version that hides the children of nodes in lists.
_CHILDREN_SINCE = 83
#: Beginnings of paths whose bodies may have passwords, such as those of BMCs. A debug log must not have them.
_WITH_SECRETS = ('/v1/nodes', '/v1/volume')
_VERSION = 'X-OpenStack-Ironic-API-Version'
_MAXIMUM = 'X-OpenStack-Ironic-API-Maximum-Version'


class Failed(Exception):
    """An error response of the service.

    :param status: the HTTP status.
    :param reason: the HTTP reason phrase, which is used if the response has no message.
    :param document: the JSON document of the response; {} if another server sent something else.
    :ivar status: the HTTP status.
    :ivar code: the error code, which stays the same when messages change; None if the response has none.
    :ivar reasons: why each listed node cannot be reserved; None for other errors.
    :ivar explanation: why nodes do not match, for a reservation by request; None for other errors.
    :ivar digest: the digest of a new preview, if the preview of the request is outdated; None for other errors.
    """

    def __init__(self, status: int, reason: str, document: Mapping[str, Any]) -> None:
        super().__init__(_message(document) or f'{status} {reason}')
        self.status = status
        self.code = document.get('code')
        self.reasons = document.get('reasons')
        self.explanation = document.get('explanation')
        self.digest = document.get('digest')


class Requests:
    """The requests of a client of one service.

    :param connection: an openstacksdk Connection, or a keystoneauth Session.
    :param version: version of the API.
    :param options: for a Session, arguments of keystoneauth's Adapter: ``endpoint_override``, ``region_name``, ….
    """

    def __init__(self, connection: Any, version: str = VERSION, **options: Any) -> None:
        if hasattr(connection, SERVICE_TYPE):
            self._adapter = getattr(connection, SERVICE_TYPE)
        else:
            self._adapter = adapter.Adapter(connection, service_type=SERVICE_TYPE, **options)
        self._version = version
        #: The version of the last response; None before the first one.
        self._served: str | None = None

    def find(self, path: str) -> dict[str, Any] | None:
        """Return the document at a path; None if the response is 404.

        :param path: path that begins with /v1.
        :raises Failed: any other error response.
        """
        try:
            return self.ask('GET', path)
        except Failed as error:
            if error.status == 404:
                return None
            raise

    def pages(self, path: str, key: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Generate the items of all pages of a list.

        :param path: path of the list, which begins with /v1.
        :param key: key of the items in a page.
        :param query: query parameters; lists are joined by commas.
        """
        query = {name: ','.join(value) if isinstance(value, list) else value for name, value in query.items()}
        while True:
            page = self.ask('GET', path, query=query)
            yield from page[key]
            if not page.get('next'):
                return
            [marker] = urllib.parse.parse_qs(urllib.parse.urlsplit(page['next']).query)['marker']
            query = query | {'marker': marker}

    def ask(self, method: str, path: str, document: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """Send a request of the Bare Metal API.

        :param method: HTTP method.
        :param path: path that begins with /v1.
        :param document: body, to be encoded as JSON; None for no body.
        :param query: query parameters; None for no parameters.
        :returns: the decoded body of the response; None if it is empty.
        :raises Failed: an error response.
        """
        response = self.send(method, path, document, query)
        if response.status_code == HTTPStatus.NOT_ACCEPTABLE and self._version == VERSION:
            # An earlier release of this service, or of Ironic.
            maximum = response.headers.get(_MAXIMUM, VERSION)
            if _minor(maximum) < _minor(VERSION):
                self._version = maximum
                response = self.send(method, path, document, query)
        if response.status_code >= 400:
            raise Failed(response.status_code, response.reason, response_document(response))
        return response.json() if response.content else None

    @property
    def everything(self) -> dict[str, str]:
        """The query parameters with which a list of nodes has the children of nodes, too."""
        if self._served is None:
            # Which version is the latest, and whether the service has the version, says its first response.
            self.ask('GET', '/v1')
        return {'include_children': 'true'} if _minor(self._served or self._version) >= _CHILDREN_SINCE else {}

    def send(
        self,
        method: str,
        path: str,
        document: Any,
        query: Mapping[str, Any] | None,
        headers: Mapping[str, str] | None = None,
        **options: Any,
    ) -> requests.Response:
        """Send a request, and return the response, whatever its status.

        :param options: further arguments of keystoneauth's Adapter.
        """
        # The endpoint in a catalog may end in /v1 or not.
        base = self._adapter.get_endpoint().rstrip('/').removesuffix('/v1')
        response = self._adapter.request(
            base + path,
            method,
            json=document,
            params=query,
            microversion=self._version,
            headers={_VERSION: self._version, **(headers or {})},
            raise_exc=False,
            log=document is None or not path.startswith(_WITH_SECRETS),
            # openstacksdk would retry a 409 for 15 seconds, which is useless when a node is reserved.
            status_code_retries=0,
            **options,
        )
        self._served = response.headers.get(_VERSION, self._version)
        return response


def without_none(**values: Any) -> dict[str, Any]:
    """Return the values that are not None, {name: value}."""
    return {name: value for name, value in values.items() if value is not None}


def _minor(version: str) -> int:
    return int(version.partition('.')[2] or 0)


def response_document(response: requests.Response) -> dict[str, Any]:
    """Return the JSON document of a response; {} if it has none."""
    try:
        document = response.json()
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _message(document: Mapping[str, Any]) -> Any:
    """Return the message of an error response. Ironic encodes it as a JSON document in a string."""
    message: Any = document.get('error_message')
    try:
        message = json.loads(message)
    except (TypeError, ValueError):
        return message
    return message.get('faultstring') or message.get('description') if isinstance(message, dict) else message
