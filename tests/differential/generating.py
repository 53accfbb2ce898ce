"""Sequences of random requests from a description of an API: ``ironic_requests`` and ``placement_requests``."""

import dataclasses
import json
import random
import re
import urllib.parse

from tests.support import personas

#: Values of a wrong type, which any field may get.
_BAD = (None, '', 'a' * 256, 0, -1, 1.5, True, [], {}, ['a'], {'a': 1}, 'é', ' ', 'none')


@dataclasses.dataclass(frozen=True)
class Request:
    """A request.

    :ivar operation: method and path with the names of parameters, such as "GET /v1/nodes/{node}".
    """

    operation: str
    method: str
    path: str
    headers: dict
    body: str | None

    def raw(self):
        """Return what ``peers.send`` sends."""
        return [self.method, self.path, self.headers, self.body]

    def __str__(self):
        return f'{self.method} {self.path} {self.body or ""} {self.version} {self.headers.get("X-Auth-Token")}'

    @property
    def version(self):
        """The version of the API, as text."""
        return next((value.rpartition(' ')[2] for name, value in self.headers.items() if 'API-Version' in name), '-')


@dataclasses.dataclass(frozen=True)
class Api:
    """The description of an API.

    :ivar admin: the persona of most requests, which may do everything.
    :ivar header: function from a minor version to the header of a version.
    :ivar operations: [(weight, method, path, names of query parameters, body), …]. A body is None, a dict of fields
        {name: values}, ("patch", fields) for a JSON patch, or a function of a ``Generator``. Nearly all bodies have the
        fields whose names end with *.
    :ivar pools: {name of a parameter: values}.
    :ivar prelude: [(method, path, body), …] that the administrator sends before all sequences.
    """

    name: str
    admin: str
    header: object
    maximum: int
    minimum: int
    operations: list
    pools: dict
    prelude: list


class Generator:
    """Generates the requests of one sequence.

    :param api: Api.
    :param seed: of the random numbers.
    """

    def __init__(self, api, seed):
        self._api = api
        self.random = random.Random(f'{api.name} {seed}')
        self._weights = [each[0] for each in api.operations]
        # Half of the sequences are those of one client, with one version.
        self._version = self._any_version() if self.random.random() < 0.5 else None
        #: The minor version of the current request.
        self.minor = api.maximum

    def sequence(self, length):
        """Return random requests."""
        return [self._request() for _ in range(length)]

    def chance(self, probability):
        """Return True with a probability."""
        return self.random.random() < probability

    def value(self, values):
        """Return one of some values, or seldom a bad one."""
        return self.random.choice(_BAD if self.chance(0.06) else values)

    def fields(self, table, number=2):
        """Return a document with the required fields, and a few others."""
        required = [name for name in table if name.endswith('*') and not self.chance(0.03)]
        others = self.random.sample(list(table), min(len(table), self.random.randint(0, number)))
        return {name.rstrip('*'): self.value(table[name]) for name in dict.fromkeys(required + others)}

    def patch(self, table):
        """Return a JSON patch with one or two operations."""
        return [self._operation(table) for _ in range(1 + self.chance(0.2))]

    def _operation(self, table):
        name = self.random.choice(list(table))
        path = '/' + name.strip('/*')
        op = self.random.choices(['add', 'replace', 'remove', 'test'], [5, 4, 3, 0.2])[0]
        value = {} if op == 'remove' else {'value': self.value(table[name])}
        return {'op': op, 'path': path} | value

    def _request(self):
        _, method, path, query, body = self.random.choices(self._api.operations, self._weights)[0]
        persona = self._api.admin if self.chance(0.75) else self.random.choice(personas.PERSONAS)
        filled = re.sub(r'\{(\w+)\}', lambda match: self._segment(match[1]), path) + self._query(query)
        self.minor = self._version if self._version is not None else self._any_version()
        document = self._document(body)
        text = None if body is None else json.dumps(document)
        if text and self.chance(0.005):
            text = self.random.choice(['', '{', '[]', 'null', '"a"', text[:-1]])
        return Request(f'{method} {path}', method, filled, self._headers(self.minor, persona), text)

    def _document(self, body):
        if callable(body):
            return body(self)
        if isinstance(body, tuple):
            return self.patch(body[1])
        return self.fields(body) if body is not None else None

    def _segment(self, name):
        return urllib.parse.quote(str(self.random.choice(self._api.pools[name])), safe='')

    def _query(self, names):
        """Return a query with some of the parameters. Nearly all have those whose names end with *."""
        often = min(0.5, 1.2 / max(len(names), 1))
        chosen = [name.rstrip('*') for name in names if self.chance(0.95 if name.endswith('*') else often)]
        pairs = [(name.rpartition('/')[2], self._argument(name)) for name in chosen]
        return '?' + urllib.parse.urlencode(pairs) if pairs else ''

    def _argument(self, name):
        values = self._api.pools[name]
        if name.endswith('fields') and self.chance(0.7):
            return ','.join(self.random.sample(values, min(len(values), 2)))
        return '' if self.chance(0.02) else self.random.choice(values)

    def _any_version(self):
        if self.chance(0.35):
            return self._api.maximum
        return self.random.randint(self._api.minimum, self._api.maximum)

    def _headers(self, minor, persona):
        return personas.headers(persona) | self._api.header(minor)


def prelude(api):
    """Return the requests that create the objects that all sequences find."""
    headers = personas.headers(api.admin) | api.header(api.maximum)
    return [
        Request(f'{method} {path}', method, path, headers, body and json.dumps(body))
        for method, path, body in api.prelude
    ]
