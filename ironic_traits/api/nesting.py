"""The limit for how deep JSON documents may be nested.

Parsers support a thousand levels, serializers two hundred, and recursive functions something in between. Without a
lower limit, the service could store a document that it cannot show.
"""

from collections.abc import Iterable
from typing import Any

from ironic_traits import failures

#: Levels of objects and lists, including the outermost one.
MAX_DEPTH = 64


def check(document: Any) -> None:
    """Raise InvalidInput if a document is nested deeper than MAX_DEPTH."""
    # Not recursive: the document could exceed Python's recursion limit.
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [part for container in level for part in _parts(container) if isinstance(part, (dict, list))]
        if not level:
            return
    raise failures.InvalidInput(reason=f'The JSON document is nested too deep: it may have at most {MAX_DEPTH} levels.')


def _parts(container: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return container.values() if isinstance(container, dict) else container
