"""Predicates of differences from Ironic: what ``ironic_differences`` asks of a request and its answers."""

import json
import re
import urllib.parse

from oslo_utils import uuidutils

from tests.differential.comparing import identity

_REFUSED = (400, 403, 404, 405, 406, 409)
#: Kinds of faults, and what messages say about them. Others are told apart by their status.
_FAULTS = {
    'version': r'API version|not acceptable|^The API|^Resource could not be found',
    'access': 'Access was denied|Operation not permitted|requires a scope',
    'absent': 'could not be found',
}


def _fault(difference, side):
    """Return the kind of the fault for which a service refuses a request."""
    words = difference.message(side)
    found = (name for name, pattern in _FAULTS.items() if re.search(pattern, words))
    return next(found, difference.calls[side]['status'])


def is_refused_otherwise(difference):
    """Whether both services refuse a request for faults of different kinds, not because of its user alone."""
    statuses = {difference.theirs, difference.ours}
    faults = {_fault(difference, side) for side in (0, 1)}
    return statuses <= {*_REFUSED} and statuses != {403, 404} and len(faults) == 2


def has(text):
    """Return a predicate of requests whose path has a text."""
    return lambda difference: text in difference.calls[0]['path']


def is_shorter(difference):
    """Whether our link to the next page has the parameters of the request and the marker, and no others."""
    theirs, ours = ({*each.lower().split('&')} for each in (difference.theirs, difference.ours))
    asked = {*_path(difference).lower().partition('?')[2].split('&')}
    # Ironic leaves out empty ones, and some filters.
    rest = {each for each in ours - theirs if not each.endswith('=')}
    return rest <= asked and all(each.startswith(('fields=', 'sort_')) for each in theirs - ours)


def is_no_link(difference):
    """Whether the next link of the real service has arguments without a question mark before them."""
    return '&' in difference.theirs and '?' not in difference.theirs


def is_sorted_otherwise(difference):
    """Whether the order of two lists may differ: a row may have no key, or a generated uuid as the key."""
    arguments = query(difference)
    if 'sort_key' not in arguments:
        return False
    key = arguments['sort_key'][0]
    rows = [row for call in difference.calls for row in _rows(call['answer'])]
    shown = [row[key] for row in rows if key in row]
    return len(shown) < len(rows) or None in shown or 'UUID' in shown or 'marker' in arguments


def query(difference):
    """Return the arguments of a request: {name: values}."""
    return urllib.parse.parse_qs(difference.calls[0]['path'].partition('?')[2])


def _rows(body):
    """Return the rows of the list in a body."""
    return next((value for value in body.values() if isinstance(value, list)), [])


def is_of_service(difference):
    """Whether a request is one of the role "service"."""
    return difference.calls[0]['headers']['X-Roles'] == 'service'


def patches_twice(difference):
    """Whether a patch has two operations on one field."""
    fields = [each['path'] for each in json.loads(difference.calls[0]['body'])]
    return len(fields) > len(set(fields))


def has_fewer(difference):
    """Whether our list has some of the rows of theirs, and no others."""
    theirs, ours = ([identity(row) for row in _rows(call['answer'])] for call in difference.calls)
    return len(ours) < len(theirs) and not {*ours} - {*theirs}


def filters_by(difference, name):
    """Whether a request filters by an argument and others."""
    others = {'limit', 'marker', 'sort_key', 'sort_dir', 'fields', 'detail', name}
    is_below = difference.operation.startswith('GET /v1/nodes/')
    return name in query(difference) and bool(is_below or query(difference).keys() - others)


def lists_nothing(difference):
    """Whether the list of the real service is empty."""
    return [] in difference.calls[0]['answer'].values()


def names_another(difference):
    """Whether two messages say that something could not be found: other things, or Ironic does not say which one."""
    pattern = r'^(.*?) (\S+) could not be found'
    theirs, ours = (re.search(pattern, each) for each in (difference.theirs, difference.ours))
    if not ours:
        return False
    vague = r'^($|Portgroup None |Resource could not be found\.$|Node inventory record for node \d+ )'
    return bool(re.search(vague, difference.theirs)) or bool(
        theirs and theirs[1] != ours[1] and ours[2] in _path(difference)
    )


def _path(difference):
    return urllib.parse.unquote(difference.calls[0]['path'])


def has_power_in_enroll(difference):
    """Whether only this service shows a power state of a node in "enroll"."""
    bodies = [call['answer'] for call in difference.calls]
    pairs = zip(*(_rows(body) or [body] for body in bodies), strict=False)
    return any(
        ours.get('power_state') and not theirs.get('power_state') and ours.get('provision_state') == 'enroll'
        for theirs, ours in pairs
    )


def names_rule(difference):
    """Whether a request has a uuid of a rule that is none."""
    return not uuidutils.is_uuid_like(json.loads(difference.calls[0]['body']).get('uuid'))


def has_failed_service(difference):
    """Whether a node is in "service failed"."""
    answer = difference.calls[0]['answer']
    return 'service failed' in [node.get('provision_state') for node in (answer, *answer.get('nodes', ()))]


def redacts(difference):
    """Whether this service redacts the properties of a volume target."""
    return 'redacted_contents' in difference.calls[1]['answer']['properties']


def has_same_steps(difference):
    """Whether two answers have the same steps in another order."""
    theirs, ours = ([_sorted_steps(each) for each in _with_steps(call['answer'])] for call in difference.calls)
    return theirs == ours


def _with_steps(body):
    """Return the deploy templates or runbooks in a body."""
    return body.get('deploy_templates') or body.get('runbooks') or [body]


def _sorted_steps(document):
    return sorted(str(sorted(step.items())) for step in document['steps'])


def says_states(difference):
    """Whether two messages differ in how they list the states in which a node can be deleted."""
    theirs, ours = (re.sub(r'[^a-z ]', '', each) for each in (difference.theirs, difference.ours))
    return theirs == ours and theirs.startswith('an not delete node')
