"""How deep JSON documents may be nested.

Parsers take a thousand levels, serializers two hundred, and recursive functions something between.  What one of them
stores, another one could not show: so the service takes no document that comes near any of these limits.
"""

from ironic_traits import failures

#: Levels of objects and lists, the outermost one included.
MAX_DEPTH = 64


def check(document):
    """Raise InvalidInput if a document is nested deeper than MAX_DEPTH.

    :param document: any JSON value.
    """
    # Level by level, and not by recursion, which the document could exhaust.
    level = [document] if isinstance(document, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        level = [part for container in level for part in _parts(container) if isinstance(part, (dict, list))]
        if not level:
            return
    raise failures.InvalidInput(reason=f'The JSON document is nested too deep: {MAX_DEPTH} levels are allowed.')


def _parts(container):
    return container.values() if isinstance(container, dict) else container
