"""Validation and application of JSON patches (RFC 6902)."""

import copy
import re
from collections.abc import Collection, Iterable
from typing import Any

import jsonpatch
import jsonpointer
import wsme.types

from ironic_traits import failures, spelling
from ironic_traits.api import nesting, types
from ironic_traits.api.types import PatchOperation

#: The fields of a document, or an operation of a patch.
Item = dict[str, Any]
#: A JSON pointer to a field, or into it.
_PATH = re.compile(r'/[^/]+(/.*)?', re.DOTALL)


def field(operation: PatchOperation) -> str:
    """Return the name of the field that an operation changes.

    :raises failures.InvalidInput: its path does not name a field.
    """
    if not _PATH.fullmatch(operation.path):
        raise failures.InvalidInput(reason=f"'{operation.path}' is not a path: '/field' or '/field/key' is expected.")
    return operation.path.split('/')[1]


def plain(operation: PatchOperation, settable: Collection[str]) -> Item:
    """Return an operation as a dict, as ``apply`` takes it.

    :param settable: names of the fields that may be changed.
    :raises failures.InvalidInput: its field may not be changed, or it has no value.
    """
    name = field(operation)
    if name not in settable:
        names = f'Only the following can be updated: {", ".join(sorted(settable))}'
        raise failures.InvalidInput(reason=f'Cannot patch {operation.path}.{spelling.hint(name, settable)} {names}')
    if operation.op == 'remove':
        if operation.path == f'/{name}':
            # Every field exists, possibly as null. To remove it means to reset it.
            return {'op': 'replace', 'path': operation.path, 'value': None}
        return {'op': 'remove', 'path': operation.path}
    if operation.value is wsme.types.Unset:
        raise failures.InvalidInput(reason=f"Couldn't apply patch. Reason: '{operation.op}' needs a 'value'.")
    return {'op': operation.op, 'path': operation.path, 'value': operation.value}


def apply(document: Item, operations: Iterable[Item]) -> Item:
    """Return a document with a patch applied, without the fields that are null then.

    :param document: {field: value}. It is not modified.
    :param operations: [operation as ``plain`` returns it, …].
    :raises failures.InvalidInput: the patch does not fit the document, or its result is nested too deep.
    """
    patched = copy.deepcopy(document)
    for operation in operations:
        patched = _apply_one(patched, operation)
    nesting.check(patched)
    return {name: value for name, value in patched.items() if value is not None}


def _apply_one(document: Item, operation: Item) -> Item:
    """Return a document after one operation of a patch, which may modify it in place.

    :raises failures.InvalidInput: the operation does not fit. The message is our own, because those of the libraries
        quote the document, which may contain passwords.
    """
    op, path = operation['op'], operation['path']
    try:
        return jsonpatch.apply_patch(document, [operation], in_place=True)
    except jsonpatch.JsonPatchConflict:
        reason = f'there is nothing to {op} at this path' if op != 'add' else 'the index is outside of the list'
    except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException, TypeError):
        reason = 'the path is not inside an object or a list'
    raise failures.InvalidInput(reason=f"Couldn't apply patch: '{op}' of '{path}'. Reason: {reason}.")


def stated_fields(body: types.Base) -> Item:
    """Return the fields that a body has: {field: value}, with None for null."""
    values = {each.name: getattr(body, each.key) for each in wsme.types.list_attributes(type(body))}
    return {name: value for name, value in values.items() if value is not wsme.types.Unset}


def given_fields(body: types.Base) -> Item:
    """Return the fields of a body that are neither missing nor null, {field: value}."""
    return {name: value for name, value in stated_fields(body).items() if value is not None}
