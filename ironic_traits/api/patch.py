"""JSON patches (RFC 6902): what they may say, and what they make of a document."""

import copy
import re

import jsonpatch
import jsonpointer
import wsme.types

from ironic_traits import failures
from ironic_traits.api import nesting

#: A JSON pointer to a field, or into it.
_PATH = re.compile(r'/[^/]+(/.*)?', re.DOTALL)


def field(operation):
    """Name the field that an operation is about.

    :param operation: types.PatchOperation.
    :raises failures.InvalidInput: it is about none.
    """
    if not _PATH.fullmatch(operation.path):
        raise failures.InvalidInput(reason=f"'{operation.path}' is not a path: '/field' or '/field/key' is expected.")
    return operation.path.split('/')[1]


def plain(operation, settable):
    """Give an operation as ``apply`` wants it.

    :param operation: types.PatchOperation.
    :param settable: names of the fields that may be changed.
    :raises failures.InvalidInput: its field may not be changed, or it has no value.
    """
    name = field(operation)
    if name not in settable:
        raise failures.InvalidInput(
            reason=f'Cannot patch {operation.path}. Only the following can be updated: {", ".join(sorted(settable))}'
        )
    if operation.op == 'remove':
        if operation.path == f'/{name}':
            # Every field is there, if only as null: to remove one is to set it back.
            return {'op': 'replace', 'path': operation.path, 'value': None}
        return {'op': 'remove', 'path': operation.path}
    if operation.value is wsme.types.Unset:
        raise failures.InvalidInput(reason=f"Couldn't apply patch. Reason: '{operation.op}' needs a 'value'.")
    return {'op': operation.op, 'path': operation.path, 'value': operation.value}


def apply(document, operations):
    """Return a document with a patch applied, without the fields that are null then.

    :param document: {field: value}; it does not change.
    :param operations: [what ``plain`` returns, …].
    :raises failures.InvalidInput: the patch does not fit, or its result is nested too deep.
    """
    patched = copy.deepcopy(document)
    for operation in operations:
        patched = _apply_one(patched, operation)
    nesting.check(patched)
    return {name: value for name, value in patched.items() if value is not None}


def _apply_one(document, operation):
    """Return a document after one operation of a patch, which may change it in place.

    :raises failures.InvalidInput: the operation does not fit.  What the libraries say of it quotes the document, which
        may have passwords in it: the reason is a sentence of our own.
    """
    op, path = operation['op'], operation['path']
    try:
        return jsonpatch.apply_patch(document, [operation], in_place=True)
    except jsonpatch.JsonPatchConflict:
        reason = f'there is nothing to {op} at this path' if op != 'add' else 'the path is outside of the list'
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError):
        reason = 'the path does not lead into an object or a list'
    raise failures.InvalidInput(reason=f"Couldn't apply patch: '{op}' of '{path}'. Reason: {reason}.")


def given(body):
    """Give what a client said in a body: {field: value}, None where it said null."""
    values = {each.name: getattr(body, each.key) for each in wsme.types.list_attributes(type(body))}
    return {name: value for name, value in values.items() if value is not wsme.types.Unset}
