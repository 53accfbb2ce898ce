"""Values of fields."""

from typing import Any

import orjson


def differ(one: Any, other: Any) -> bool:
    """Whether two values of a field differ. In JSON objects, 1 and true differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        return orjson.dumps(one, option=orjson.OPT_SORT_KEYS) != orjson.dumps(other, option=orjson.OPT_SORT_KEYS)
    return one != other
