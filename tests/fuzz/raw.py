"""Mutated raw requests over a socket, such as known attacks on servers.

Each connection sends one or more mutated requests, and reads until the service closes the connection or is silent.
"""

import json
import math
import random
import re
import socket
import time
import urllib.parse

from tests.fuzz import world

#: Maximum seconds until the service responds, or closes a half-closed connection; seconds before a connection is
#: half-closed; seconds that it waits for another response.
LONGEST, PATIENCE, SILENCE = 20, 0.3, 0.05
#: Maximum number of bytes to read of a response.
_MOST = 20_000_000
_STATUS = re.compile(rb'HTTP/1\.[01] ([1-5][0-9][0-9])[ \r]')
#: Statuses with which the server, not the application, refuses requests: with an empty body.
_BY_SERVER = {400, 408, 413, 414, 417, 431, 501, 505}
_JSON = {'Content-Type': 'application/json', 'X-OpenStack-Ironic-API-Version': '1.115'}
_PLACEMENT = {'Content-Type': 'application/json', 'OpenStack-API-Version': 'placement 1.39'}
#: A request inside another one. If the service executes it, it deletes the node of ``RawSearch.check``.
_SMUGGLED = f'DELETE /v1/nodes/{world.CANARY} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Smuggled: 1\r\n\r\n'.encode()
#: (method, target, headers, body) of valid requests.
_REQUESTS = (
    ('GET', '/', _JSON, None),
    ('GET', '/v1/nodes?traits=CUSTOM_A&fields=uuid,traits', _JSON, None),
    ('GET', f'/v1/nodes/{world.NODE}', _JSON, None),
    ('GET', '/openapi.json?version=1.37', _JSON, None),
    ('POST', '/v1/nodes', _JSON, {'driver': 'fake-hardware', 'extra': {'a': [1, {'b': None}]}, 'properties': {}}),
    ('PATCH', f'/v1/nodes/{world.NODE}', _JSON, [{'op': 'add', 'path': '/extra/a', 'value': 1}]),
    ('PUT', '/v1/nodes/one/traits', _JSON, {'traits': ['CUSTOM_A', 'HW_CPU_X86_VMX']}),
    ('PUT', '/v1/nodes/one/traits/CUSTOM_B', _JSON, None),
    ('DELETE', '/v1/nodes/one/traits/CUSTOM_B', _JSON, None),
    ('POST', '/v1/matches', _JSON, {'required': ['CUSTOM_A'], 'limit': 1}),
    ('POST', '/v1/reservations', _JSON, {'instance_uuid': world.INSTANCE, 'node_uuid': ['one', 'two']}),
    ('POST', '/v1/traits/edits', _JSON, {'add': ['CUSTOM_C'], 'nodes': ['one'], 'preview': True}),
    ('POST', '/v1/nodes/actions', _JSON, {'action': 'maintenance', 'nodes': ['one'], 'preview': True}),
    ('PUT', '/v1/nodes/one/inventory', _JSON, {'inventory': {'cpu': {'architecture': 'x86_64'}}}),
    ('POST', '/v1/continue_inspection', _JSON, {'inventory': {'interfaces': []}}),
    ('GET', '/placement/allocation_candidates?resources=DISK_GB:1', _PLACEMENT, None),
    ('PUT', f'/placement/resource_providers/{world.PROVIDER}', _PLACEMENT, {'name': 'provider'}),
    ('POST', '/placement/resource_classes', _PLACEMENT, {'name': 'CUSTOM_NEW'}),
)


class Request:
    """A request that mutators change.

    :ivar pauses: whether its bytes are sent in pieces, with pauses.
    """

    def __init__(self, method, target, headers, body):
        self.method, self.target = method.encode(), target.encode()
        self.version = b'HTTP/1.1'
        self.headers = [(b'Host', b'127.0.0.1')] + [(name.encode(), text.encode()) for name, text in headers.items()]
        self.body = b'' if body is None else json.dumps(body).encode()
        self.framing = [(b'Content-Length', str(len(self.body)).encode())] if self.body else []
        self.after = b''
        self.pauses = False

    def frame(self):
        """Update Content-Length."""
        self.framing = [(b'Content-Length', str(len(self.body)).encode())]

    def __bytes__(self):
        lines = [b' '.join([self.method, self.target, self.version])]
        ending = [] if self.after else [(b'Connection', b'close')]
        lines += [b': '.join(each) for each in self.headers + self.framing + ending]
        return b'\r\n'.join(lines) + b'\r\n\r\n' + self.body + self.after


def _half_sent(random, request):
    request.body = request.body or b'{"driver": "fake-hardware"}'
    request.framing = [(b'Content-Length', str(len(request.body) + random.choice([1, 1000, 10**9])).encode())]


def _slow(random, request):
    request.pauses = True


def _deep(random, request):
    depth = random.choice([60, 1000, 20_000])
    request.body = random.choice([b'[' * depth, b'{"a":' * depth + b'1' + b'}' * depth, b'[' * depth + b']' * depth])
    request.frame()


def _duplicate_keys(random, request):
    request.body = (
        b'{"driver": "fake-hardware", "driver": 1, "traits": [], "traits": ["CUSTOM_A"], "name": "a", "name": 2}'
    )
    request.frame()


def _encoding(random, request):
    text = request.body.decode(errors='replace') or '{}'
    encodings = [text.encode('utf-16'), text.encode('utf-32'), b'\xef\xbb\xbf' + text.encode(), b'\xff' + text.encode()]
    broken = [
        b'{"name": "\xc0\xaf"}',
        b'{"name": "\xed\xa0\x80"}',
        b'{"name": "\\ud800"}',
        b'{"name": "\\u0000"}',
        b'\x00',
    ]
    request.body = random.choice(encodings + broken)
    request.frame()


def _numbers(random, request):
    numbers = [
        b'1e400',
        b'-1e400',
        b'9' * 5000,
        b'1' + b'0' * 100_000,
        b'-0',
        b'0x10',
        b'1.' + b'0' * 9999,
        b'1E+9999999999',
    ]
    request.body = b'{"driver": "fake-hardware", "extra": {"a": %s}, "limit": 1}' % random.choice(numbers)
    request.frame()


def _header_injection(random, request):
    text = random.choice(
        [b'a\r\nX-Injected: 1', b'a\nX-Injected: 1', b'a\rX-Injected: 1', b'a\0b', b'\xff\xfe', b'\t \t', b'']
    )
    name = random.choice(
        [b'X-OpenStack-Request-ID', b'X-OpenStack-Ironic-API-Version', b'OpenStack-API-Version', b'Accept']
    )
    names = [name, b'If-Match', b'If-None-Match', b'Host', b'Content-Type', b'Origin', b'X Y', b'', b'X-Auth-Token']
    request.headers.append((random.choice(names), text))


def _target(random, request):
    quoted = [
        '%0d%0aX-Injected:%201',
        '%00',
        '%ff',
        '%c0%af',
        '%2e%2e%2f',
        '%',
        '%zz',
        'é',
        '\\',
        '//',
        '/../..',
        '#',
        '?' * 50,
    ]
    text = random.choice([*quoted, 'a' * 9000, '?' + 'a=1&' * 3000, '?fields=' + 'uuid,' * 3000, '?limit=' + '9' * 400])
    request.target = random.choice([request.target + text.encode(), b'/v1/nodes/' + text.encode(), text.encode()])


def _form(random, request):
    targets = [
        b'*',
        b'http://other/v1/nodes',
        b'',
        b'127.0.0.1:80',
        b'/v1/nodes HTTP/1.1\r\nX-Injected: 1\r\n',
        b'/' * 3000,
    ]
    request.target = random.choice(targets)


def _method(random, request):
    methods = [b'OPTIONS', b'HEAD', b'TRACE', b'CONNECT', b'get', b'G\0T', b'A' * 3000, b'PRI', b'POST\t', b'']
    request.method = random.choice(methods)


def _version(random, request):
    versions = [
        b'HTTP/1.0',
        b'HTTP/0.9',
        b'HTTP/2.0',
        b'HTTP/9.9',
        b'HTTP/1.1x',
        b'http/1.1',
        b'',
        b'HTTP/1.1 HTTP/1.1',
    ]
    request.version = random.choice(versions)


def _many_headers(random, request):
    count, size = random.choice([(200, 10), (2000, 10), (1, 100_000), (50, 5000)])
    request.headers += [(b'X-%d' % number, b'a' * size) for number in range(count)]


def _smuggled(random, request):
    """Send two lengths, or a malformed one. The rest looks like another request."""
    chunks = (b'%x\r\n%s\r\n' % (len(request.body), request.body) if request.body else b'') + b'0\r\n\r\n'
    both = [(b'Transfer-Encoding', b'chunked'), (b'Content-Length', b'%d' % (len(chunks) + len(_SMUGGLED)))]
    if random.random() < 0.3:
        # RFC 9112, 6.1: the server must close the connection after the response.
        request.framing, request.body, request.after = random.choice([both, both[::-1]]), chunks, _SMUGGLED
        return
    length = str(len(request.body)).encode()
    framing, body = random.choice(
        [
            ([(b'Content-Length', length), (b'Transfer-Encoding', b'chunked')], chunks),
            ([(b'Content-Length', b'0'), (b'Content-Length', length)], request.body),
            ([(b'Content-Length', b'+' + length)], request.body),
            ([(b'Content-Length', b'-1')], request.body),
            ([(b'Content-Length', length + b', ' + length)], request.body),
            ([(b'Content-Length', b'9' * 30)], request.body),
            ([(b'Transfer-Encoding', b'xchunked')], chunks),
            ([(b'Transfer-Encoding', b'chunked, identity')], chunks),
            ([(b'Transfer-Encoding', b'identity'), (b'Content-Length', length)], request.body),
            ([(b'Transfer-Encoding', b'\x0bchunked')], chunks),
            ([(b'Transfer-Encoding ', b'chunked')], chunks),
            ([(b'Transfer_Encoding', b'chunked'), (b'Content-Length', length)], request.body),
            ([(b'Transfer-Encoding', b'chunked')], b'-1\r\n'),
            ([(b'Transfer-Encoding', b'chunked')], b'fffffffffffffffff\r\na\r\n'),
            ([(b'Transfer-Encoding', b'chunked')], b'1;' + b'a' * 20_000 + b'\r\na\r\n0\r\n\r\n'),
            ([(b'Transfer-Encoding', b'chunked')], b'0\r\nX-Injected: 1\r\n\r\n'),
        ]
    )
    request.framing, request.body = framing, body


def _pipelined(random, request):
    another = bytes(Request(*random.choice(_REQUESTS)))
    request.after = another * random.choice([1, 5, 40])


def _expect(random, request):
    request.headers.append((b'Expect', random.choice([b'100-continue', b'200-ok', b''])))


def _flipped(random, request):
    """Change some bytes of the body."""
    body = bytearray(request.body or b'{}')
    for _ in range(random.randint(1, 5)):
        position = random.randrange(len(body))
        body[position : position + random.randint(0, 2)] = random.choice(
            [b'', b'"', b'\\', b'{', b'\x80', b',', b'9' * 30]
        )
        body = body or bytearray(b' ')
    request.body = bytes(body)
    request.frame()


MUTATORS = (
    *(_half_sent, _slow, _deep, _duplicate_keys, _encoding, _numbers, _header_injection, _target, _form, _method),
    *(_version, _many_headers, _smuggled, _pipelined, _expect, _flipped),
)


class RawSearch:
    """A search by mutated requests over a socket.

    :param base: URL of the service.
    :param seed: of the random numbers.
    :ivar sent: number of requests.
    :ivar statuses: {status: number of responses}.
    :ivar problems: [sentence, …].
    :ivar longest: duration of the slowest response in seconds.
    """

    def __init__(self, base, seed):
        address = urllib.parse.urlsplit(base)
        self._address = address.hostname, address.port
        self._random = random.Random(seed)
        self.sent = 0
        self.statuses = {}
        self.problems = []
        self.longest = 0.0

    def run(self, count, end=math.inf):
        """Send a number of requests, but none after ``end``, a time of ``time.monotonic``.

        Check sometimes that the service still works.
        """
        for number in range(count):
            if time.monotonic() > end:
                return
            self.sent += 1
            request = Request(*self._random.choice(_REQUESTS))
            mutators = self._random.sample(MUTATORS, self._random.choices([1, 2], [4, 1])[0])
            # Apply this mutator last: with another length, the hidden request would be a valid second request.
            mutators.sort(key=lambda mutate: mutate is _smuggled)
            for mutate in mutators:
                mutate(self._random, request)
            self._exchange(request, ' and '.join(mutate.__name__.strip('_') for mutate in mutators))
            if number % 100 == 99:
                self.check()

    def check(self):
        """Record a problem if the service does not work, or has executed a smuggled request."""
        received = self._received(bytes(Request('GET', f'/v1/nodes/{world.CANARY}?fields=name', _JSON, None)), False)
        if b'"canary"' not in received:
            self.problems.append(f'The service does not work, or its canary is gone: {received[-300:]!r}')

    def _exchange(self, request, how):
        sent = bytes(request)
        began_at = time.monotonic()
        try:
            received = self._received(sent, request.pauses)
        except TimeoutError:
            self.problems.append(f'{how}: no response in {LONGEST} s to {sent[:300]!r}')
            return
        self.longest = max(self.longest, time.monotonic() - began_at)
        for problem in self._wrong(received):
            self.problems.append(f'{how}: {problem} to {sent[:300]!r}')

    def _received(self, sent, pauses):
        """Send bytes, and return what the service sends until it closes the connection, or is silent."""
        with socket.create_connection(self._address, timeout=LONGEST) as connection:
            try:
                for piece in _pieces(sent) if pauses else [sent]:
                    connection.sendall(piece)
                    time.sleep(0.005 if pauses else 0)
                return _read(connection)
            except ConnectionError:
                # The service may close the connection before it has read everything.
                return b''

    def _wrong(self, received):
        """Generate the problems of the responses on a connection."""
        if b'\nX-Injected' in received or b'\nx-injected' in received:
            yield f'an injected header: {received[:300]!r}'
        while received:
            match = _STATUS.match(received)
            if not match:
                yield f'no response of HTTP/1: {received[:300]!r}'
                return
            status = int(match[1])
            self.statuses[status] = self.statuses.get(status, 0) + 1
            head, _, rest = received.partition(b'\r\n\r\n')
            headers = dict(line.lower().split(b': ', 1) for line in head.split(b'\r\n')[1:] if b': ' in line)
            length = int(headers.get(b'content-length', 0))
            body, received = rest[:length], rest[length:]
            if rest.startswith(b'HTTP/1.'):
                # This is the response to a HEAD.
                body, received = b'', rest
            yield from _wrong_response(status, headers, body)


def _pieces(sent):
    size = max(1, len(sent) // 20)
    return [sent[start : start + size] for start in range(0, len(sent), size)]


def _read(connection):
    """Return what a connection receives until it is closed, or silent after a response.

    If the service waits for more of the request, send the end of the connection.

    :raises TimeoutError: it neither responds nor closes the connection.
    """
    received, is_open = b'', True
    connection.settimeout(PATIENCE)
    while len(received) < _MOST:
        try:
            chunk = connection.recv(1_000_000)
        except TimeoutError:
            if received:
                return received
            if not is_open:
                raise
            is_open = False
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(LONGEST)
            continue
        if not chunk:
            return received
        received += chunk
        connection.settimeout(SILENCE)
    return received


def _wrong_response(status, headers, body):
    if status >= 500 and status not in _BY_SERVER and not (status == 503 and b'retry-after' in headers):
        yield f'the status {status}: {body[:300]!r}'
    if b'x-openstack-request-id' not in headers and (body or status not in _BY_SERVER | {100}):
        yield f"a response {status} that is not the application's: {headers} {body[:300]!r}"
    if body and headers.get(b'content-type', b'').startswith(b'application/json'):
        try:
            json.loads(body)
        except ValueError:
            yield f'a response {status} that is no JSON: {body[:300]!r}'
