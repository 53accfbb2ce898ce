"""Requests from the description of the API. schemathesis generates them, and this replaces some of their values.

A generated request nearly always fails an early check, because its names match no objects. So most names are replaced
with those of the objects in ``world``, most optional parts are dropped, and some values are replaced with hostile ones.
"""

import json
import math
import random
import time
import urllib.parse

import hypothesis
import schemathesis
from webob import Request

from ironic_traits.api.description.documents import APIS, document
from tests.fuzz import world
from tests.support.client import Client
from tests.support.described import Described
from tests.support.service import finish_work

#: Number of requests with one document, and between two creations of the objects.
_OF_VERSION, _BETWEEN = 600, 100
#: Maximum duration of a request in seconds.
LONGEST = 20
#: Bodies that are not JSON documents, or that parsers read differently.
_RAW = (
    *(b'', b'{', b'nul', b'\xff\xfe', b'"\\ud800"', b'{"a": 1, "a": 2}', b'[1e999999]', b'[-0]', b'1' * 5000, b'NaN'),
    *(b'[' * 100_000, b'{"a":' * 5000 + b'1' + b'}' * 5000, b'\xef\xbb\xbf{}', '{"é": 1}'.encode('utf-16'), b'{}{}'),
)


class Search:
    """A search by requests from the description.

    :param app: tests.support.service.Application.
    :param seed: of the random numbers.
    :ivar sent: number of requests.
    :ivar statuses: {status: number of responses}.
    :ivar longest: duration of the slowest request in seconds.
    """

    def __init__(self, app, seed):
        self._app = Described(app)
        self._client = Client(self._app)
        self._random = random.Random(seed)
        self._seed = seed
        self._left = 0
        self._end = math.inf
        self.sent = 0
        self.statuses = {}
        self.longest = 0.0

    @property
    def problems(self):
        """Responses that the description does not allow, and requests that took too long: [sentence, …]."""
        return self._app.problems

    def run(self, count, end=math.inf):
        """Send a number of requests, but none after ``end``, a time of ``time.monotonic``."""
        self._left = count
        self._end = end
        while self._left > 0 and time.monotonic() < self._end:
            self._of_version(*self._version())

    def _version(self):
        """Choose an API and a version: the latest one half of the time."""
        name = self._random.choices(['baremetal', 'placement'], [3, 1])[0]
        protocol, _ = APIS[name]
        is_latest = self._random.random() < 0.5
        return name, protocol.maximum if is_latest else self._random.randint(protocol.minimum, protocol.maximum)

    def _of_version(self, api, minor):
        """Send requests of one version."""
        schema = schemathesis.openapi.from_dict(document(api, minor, 'noauth'))
        operations = [each.ok() for each in schema.get_all_operations()]
        number = min(self._left, _OF_VERSION)
        each = -(-number // len(operations))
        self._random.shuffle(operations)
        for operation in operations:
            if number > 0 and time.monotonic() < self._end:
                self._of_operation(operation, min(each, number), protocol_header(api, minor))
            number -= each

    def _of_operation(self, operation, number, headers):
        numbers = hypothesis.settings(
            max_examples=number,
            database=None,
            deadline=None,
            phases=[hypothesis.Phase.generate],
            suppress_health_check=list(hypothesis.HealthCheck),
        )

        @hypothesis.seed(self._random.getrandbits(32))
        @numbers
        @hypothesis.given(case=operation.as_strategy())
        def send(case):
            self._send(case, headers)

        send()

    def _send(self, case, headers):
        if self.sent % _BETWEEN == 0:
            world.create(self._client)
            finish_work(self._app)
        self.sent += 1
        self._left -= 1
        request = self._request(case)
        request.headers.update(headers)
        began_at = time.monotonic()
        response = request.get_response(self._app)
        seconds = time.monotonic() - began_at
        self.longest = max(self.longest, seconds)
        if seconds > LONGEST:
            self.problems.append(f'{request.method} {request.path_qs} took {seconds:.1f} s')
        self.statuses[response.status_int] = self.statuses.get(response.status_int, 0) + 1

    def _request(self, case):
        path = case.path.format(**{name: self._segment(name, value) for name, value in case.path_parameters.items()})
        query = urllib.parse.urlencode(self._query(case.query or {}), doseq=True)
        request = Request.blank(f'{path}?{query}' if query else path, method=case.method.upper())
        if isinstance(case.body, dict | list | str | int | float | bool | None):
            request.body = self._body(case.body)
            request.content_type = 'application/json'
        return request

    def _segment(self, name, value):
        value = self._value(name, value)
        # A slash would lead to another route, and dots to the parent path.
        return urllib.parse.quote(str(value).replace('/', '_') or '_', safe='', errors='replace').replace('.', '%2E')

    def _query(self, query):
        kept = {name: value for name, value in query.items() if self._random.random() < 0.4}
        return {name: self._argument(name, value) for name, value in kept.items()}

    def _argument(self, name, value):
        value = self._value(name.rstrip('0123456789'), value)
        if isinstance(value, list):
            return [self._text(each) for each in value]
        return self._text(value)

    def _text(self, value):
        # A lone surrogate cannot be in a URL.
        return (json.dumps(value) if not isinstance(value, str) else value).encode(errors='replace')

    def _body(self, body):
        chance = self._random.random()
        if chance < 0.05:
            return self._random.choice(_RAW)
        document = self._changed('', body)
        return json.dumps(document).encode()

    def _changed(self, name, value):
        """Return a value of a body, with some parts replaced and some dropped."""
        if isinstance(value, dict):
            kept = [key for key in value if self._random.random() < (0.9 if key in world.KNOWN else 0.4)]
            value = {key: self._changed(key, value[key]) for key in kept}
        elif isinstance(value, list):
            value = [self._changed(name, each) for each in value[:5]]
        return self._value(name, value)

    def _value(self, name, value):
        """Return a value for a parameter or a key: the generated value, one of an object, or a hostile one."""
        chance = self._random.random()
        if chance < 0.04:
            return self._random.choice(world.HOSTILE)
        if name in world.KNOWN and chance < 0.85:
            return self._random.choice(world.KNOWN[name])
        return value


def protocol_header(api, minor):
    """Return the header that names a version: {name: value}."""
    protocol, _ = APIS[api]
    values = {name.lower(): value for name, value in protocol.headers(minor, False)}
    return {protocol.version_header: values[protocol.version_header.lower()]}
