"""The preparation of the datatypes of WSME, once, when the service starts."""

import functools
from typing import Any

import wsme.types
from wsme.rest import json as wsme_json

from ironic_traits.api.types import Trait


def prepare() -> None:
    """Resolve the datatypes of the attributes of all types, and let WSME take lists of traits as they are.

    Otherwise WSME resolves them when a request first uses an attribute, and fails if two threads do so at the same
    time.
    """
    for each in wsme.types.registry.complex_types:
        for attribute in wsme.types.list_attributes(each):
            datatype = attribute.datatype
            if wsme.types.isarray(datatype) and isinstance(datatype.item_type, Trait):
                _keep_items(datatype)


@functools.cache
def _keep_items(datatype: Any) -> None:
    """Let WSME take the items of a JSON array as they are.

    By default, it looks for the conversion of each item to its base type, which is a string already. That takes seven
    times as long as the validation, which follows.
    """
    wsme_json.fromjson.when_object(datatype)(lambda datatype, value: value)
