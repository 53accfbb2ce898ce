"""The part of the client library that follows changes."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import requests
from keystoneauth1 import exceptions

from ironic_traits.client.requests import Failed, Requests, response_document

_PATH = '/v1/changes'
#: Seconds without a heartbeat after which a stream counts as broken.
_SILENCE = 60
#: Seconds before a stream is opened again.
_PAUSE = 2
_BROKEN = (exceptions.ConnectionError, requests.RequestException)


class Changes(Requests):
    """The change feed."""

    def change_token(self) -> str:
        """Return the current token. Get it before you read the objects that you want to follow."""
        return self.ask('GET', _PATH)['token']

    def follow(self, token: str, kinds: Iterable[str] = ()) -> Iterator[dict[str, Any]]:
        """Generate the changes after a token, without end, as they happen.

        ::

            token = client.change_token()
            copy = read_everything()
            for change in client.follow(token, kinds=['node']):
                update(copy, change['uuid'])

        A stream that breaks off is opened again after the last change.

        :param kinds: kinds of objects, ``node`` and ``reservation``; empty for all.
        :returns: changes as in GET /v1/changes, each with the ``token`` after it.
        :raises Failed: an error response. With 410, the token is too old: read everything again.
        """
        query = {'kind': ','.join(kinds)} if kinds else {}
        while True:
            try:
                for event in self._events(token, query):
                    token = event.get('id', token)
                    if event.get('event') == 'change':
                        yield json.loads(event['data']) | {'token': token}
            except _BROKEN:
                pass
            time.sleep(_PAUSE)

    def _events(self, token: str, query: dict[str, str]) -> Iterator[dict[str, str]]:
        """Generate the events of one stream: {field: value}."""
        headers = {'Accept': 'text/event-stream', 'Last-Event-ID': token}
        with self.send('GET', _PATH, None, query, headers=headers, stream=True, timeout=_SILENCE) as response:
            if response.status_code == 503:
                return
            if response.status_code >= 400:
                raise Failed(response.status_code, response.reason, response_document(response))
            event: dict[str, str] = {}
            for line in response.iter_lines(chunk_size=1):
                if not line:
                    yield event
                    event = {}
                name, _, value = line.decode().partition(': ')
                event[name] = value
