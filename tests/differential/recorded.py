"""Recorded answers of the real services to a few sequences, which the tests compare with those of this one."""

import hashlib
import json
import pathlib

from tests.differential import comparing, runs
from tests.differential.generating import Generator, prelude

#: Number and length of the recorded sequences.
_NUMBER, _LENGTH = 14, 30
_DATA = pathlib.Path(__file__).parents[1] / 'data'


def sequences(name):
    """Return the recorded sequences. The first one creates the objects that the others find."""
    described, _ = runs.api(name)
    return [
        prelude(described),
        *(Generator(described, f'recorded {each}').sequence(_LENGTH) for each in range(_NUMBER)),
    ]


def _path(name):
    return _DATA / f'differential-{name}.json'


def digest(recorded):
    """Return a digest of the requests of some sequences."""
    raw = [request.raw() for each in recorded for request in each]
    return hashlib.sha256(json.dumps(raw).encode()).hexdigest()


def write(name):
    """Ask the real service, and store its answers that are compared."""
    with runs.real(name) as peer, runs.ours(name) as service:
        found = [runs.asked((peer, service), requests) for requests in sequences(name)]
    compact = [[_compact(request, theirs) for request, theirs, _ in answers] for answers in found]
    stored = {'digest': digest(sequences(name)), 'answers': compact}
    text = json.dumps(stored, separators=(',', ':'), ensure_ascii=False)
    # One answer is one line.
    _path(name).write_text(text.replace(',{"status"', ',\n{"status"') + '\n')


def _compact(request, answer):
    """Return the parts of an answer that are compared."""
    call = comparing.call(request, answer)
    is_compared = answer['status'] < 400 or answer['status'] in comparing.WORDS
    document = call['answer'] if is_compared else comparing.message(call['answer'])[:100]
    return {
        'status': answer['status'],
        'headers': call['answer_headers'],
        'text': json.dumps(document) if document else '',
    }


def read(name):
    """Return the digest of the requests, and the recorded answers."""
    stored = json.loads(_path(name).read_text())
    return stored['digest'], stored['answers']
