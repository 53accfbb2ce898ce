"""The comparison of the answers of a real service with those of this one."""

import json
import re
import typing

_UUID = re.compile(r'[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}')
_TIME = re.compile(r'\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(\+00:00|Z)?')
#: The headers that are compared, and those of the versions.
_HEADERS = ('Location', 'Content-Type', 'Allow')
#: Objects of the requests have such uuids. The services generate the others.
KNOWN = 'd0000000-'
#: The value of a field that a document does not have.
MISSING = 'MISSING'
#: Messages of these statuses are compared.
WORDS = (404, 409)


class Difference(typing.NamedTuple):
    """A difference between two answers.

    :ivar path: "status", or the path to a value, such as "answer.nodes[].name".
    :ivar calls: the call to the real service, and to this one.
    """

    path: str
    theirs: object
    ours: object
    calls: tuple

    @property
    def operation(self):
        """Method and path of the request, with the names of parameters."""
        return self.calls[0]['name']

    @property
    def minor(self):
        """The minor version of the request."""
        headers = self.calls[0]['headers'].items()
        return next((int(value.rpartition('.')[2]) for name, value in headers if 'API-Version' in name), 1)

    def message(self, side=None):
        """Return the message of a failure.

        :param side: 0 for the real service, 1 for this one; None for the one that fails.
        """
        side = int(self.calls[0]['status'] < 400) if side is None else side
        answer = self.calls[side]['answer']
        return message(answer)

    def kind(self):
        """Return a text that is the same for similar differences."""
        values = f'{_short(self.theirs)} -> {_short(self.ours)}'
        words = ''
        if self.path == 'status':
            words = ' | '.join(self.message(side)[:100] for side in (0, 1) if self.calls[side]['status'] >= 400)
        return re.sub(r'd0000000-[-0-9a-f]+', 'KNOWN', f'{self.operation}: {self.path}: {values} {words}')


def _short(value):
    return f'{len(value)} {str(value)[:60]}' if isinstance(value, list) else str(value)[:60]


def message(body):
    """Return the message of a body, or ''."""
    if not isinstance(body, dict):
        return str(body or '')
    if 'errors' in body:
        return ' '.join(body['errors'][0].get('detail', '').split()[-40:])
    fault = body.get('error_message')
    return (fault.get('faultstring') or fault.get('description') or '') if isinstance(fault, dict) else str(fault or '')


def call(request, answer):
    """Return a call for the rows of differences, like the recorded ones: the request, and the normalised answer."""
    headers = {name.title(): value for name, value in answer['headers'].items() if _is_compared(name.title())}
    return {
        'name': request.operation,
        'method': request.method,
        'path': request.path,
        'headers': request.headers,
        'body': request.body,
        'status': answer['status'],
        'answer': _document(request, answer),
        'answer_headers': {name: _neutral(value) for name, value in headers.items()},
    }


def _is_compared(name):
    return name in _HEADERS or 'Api-Version' in name


def _neutral(text):
    return _UUID.sub(lambda match: match[0] if match[0].startswith(KNOWN) else 'UUID', _TIME.sub('TIME', text))


def _document(request, answer):
    """Return the body of an answer, without what each service generates."""
    if request.method == 'HEAD' or not answer['text']:
        return None
    try:
        body = json.loads(_neutral(answer['text']))
    except ValueError:
        return _neutral(answer['text'])
    if 'OpenStack-API-Version' in request.headers:
        return _sorted(body)
    if isinstance(body, dict) and isinstance(body.get('error_message'), str):
        body['error_message'] = _fault(body['error_message'])
        body.pop('code', None)
    if isinstance(body, dict) and '?' in str(body.get('next')):
        base, _, query = body['next'].partition('?')
        body['next'] = '&'.join([base, *sorted(query.split('&'))])
    return body


def _sorted(value):
    """Return a document with all lists sorted: those of Placement have no order."""
    if isinstance(value, dict):
        return {key: _sorted(each) for key, each in value.items()}
    if isinstance(value, list):
        return sorted(map(_sorted, value), key=lambda each: json.dumps(each, sort_keys=True))
    return value


def _fault(text):
    try:
        return json.loads(text)
    except ValueError:
        return text


def _differences(theirs, ours, path):
    """Yield what differs between two documents: (path, their value, our value)."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted({*theirs, *ours}):
            yield from _differences(theirs.get(key, MISSING), ours.get(key, MISSING), f'{path}.{key}')
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for one, other in zip(theirs, ours, strict=True):
            yield from _differences(one, other, f'{path}[]')
    elif theirs != ours or isinstance(theirs, bool) != isinstance(ours, bool):
        yield path, theirs, ours


def compare(theirs, ours):
    """Return the Differences between two calls."""
    calls = theirs, ours
    if theirs['status'] != ours['status']:
        return [Difference('status', theirs['status'], ours['status'], calls)]
    found = list(_differences(theirs['answer_headers'], ours['answer_headers'], 'headers'))
    if theirs['status'] < 400:
        found += _sorted_differences(*calls) if 'sort_key=' in theirs['path'] else _of_answers(*calls)
    elif 'errors' in (theirs['answer'] or {}):
        found += _differences(*(_error(each['answer']) for each in calls), 'answer')
    elif theirs['status'] in WORDS:
        words = [message(each['answer']) for each in calls]
        found += [('message', *words)] if words[0] != words[1] else []
    return [Difference(*each, calls) for each in found]


def _of_answers(theirs, ours):
    return list(_differences(theirs['answer'], ours['answer'], 'answer'))


def _sorted_differences(theirs, ours):
    """Return what differs between two sorted lists: their order, and the rows that both have."""
    name, rows = next(((name, rows) for name, rows in theirs['answer'].items() if isinstance(rows, list)), (None, []))
    others = ours['answer'].get(name, [])
    keys = [[identity(row) for row in each] for each in (rows, others)]
    is_page = re.search(r'[?&](limit|marker)=', theirs['path'])
    if keys[0] == keys[1] or (sorted(keys[0]) != sorted(keys[1]) and not is_page):
        return _of_answers(theirs, ours)
    common = _common(rows, others)
    answers = (each['answer'] | {name: kept} for each, kept in zip((theirs, ours), common, strict=True))
    return [('order', *keys), *_differences(*answers, 'answer')]


def identity(row):
    """Return what identifies a row of a list."""
    known = next((row[key] for key in ('uuid', 'hostname', 'name') if row.get(key)), None)
    return known or json.dumps({key: value for key, value in row.items() if key != 'links'}, sort_keys=True)


def _common(rows, others):
    """Return two lists without the rows that only one of them has, in the same order."""
    rest = list(others)
    found = [], []
    for row in rows:
        index = next((number for number, other in enumerate(rest) if identity(other) == identity(row)), None)
        if index is not None:
            found[0].append(row)
            found[1].append(rest.pop(index))
    return found


def _error(body):
    """Return an error of Placement without its words."""
    return {name: value for name, value in body['errors'][0].items() if name not in ('detail', 'request_id')}


def explanation(rows, difference):
    """Return the number of the first row that explains a difference, or None."""
    return next((number for number, (_, explains) in enumerate(rows) if explains(difference)), None)


def diverge(request, theirs, ours):
    """Whether the services may have different objects after two answers to a request.

    An internal error may leave something behind.
    """
    if request.method == 'GET':
        return False
    statuses = theirs['status'], ours['status']
    is_done = [status < 400 for status in statuses]
    return (is_done[0] != is_done[1] and '/vifs' not in request.path) or max(statuses) >= 500
