"""Reading and writing of YAML, without the parser's traps."""

import re
from typing import Any

import yaml

#: How deep YAML may be nested: deeper than any document of the API in a file (``api.nesting``).
MAX_DEPTH = 100
_TOO_DEEP = f'the file is nested deeper than {MAX_DEPTH}'
#: How many values the aliases of a file may repeat. The standard traits of 10,000 nodes are fewer.
MAX_REPEATED = 1_000_000
_TOO_MANY = f'the aliases of the file stand for more than {MAX_REPEATED} values'


def load(text: str) -> Any:
    """Return the document in a YAML text.

    :raises ValueError: it is nested too deep, or its aliases stand for too many values.
    :raises yaml.YAMLError: it is not YAML.
    """
    _check_size(text)
    return yaml.load(text, Loader=Loader)  # noqa: S506, it is a safe loader


def compose(text: str) -> Any:
    """Return the tree of nodes of a YAML text; arguments and errors as for ``load``."""
    _check_size(text)
    return yaml.compose(text, Loader=Loader)


def dump(document: Any, width: int | None = None) -> str:
    """Return a document as YAML, with the keys in their order."""
    return yaml.dump(document, Dumper=Dumper, sort_keys=False, width=width)


def _check_size(text: str) -> None:
    """Raise ValueError if YAML is nested too deep, or if its aliases stand for too many values.

    libyaml is recursive in C: it would use up the stack and end the process. To read the events is not recursive. A few
    lines of aliases of aliases stand for millions of values, each of which is converted on its own later.
    """
    sizes: dict[str, int] = {}
    # For each open collection: its anchor, and the number of values in it.
    opened: list[list[Any]] = [[None, 0]]
    repeated = 0
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append([event.anchor, 1])
                if len(opened) > MAX_DEPTH + 1:
                    raise ValueError(_TOO_DEEP)
            elif isinstance(event, yaml.CollectionEndEvent):
                anchor, size = opened.pop()
                opened[-1][1] += size
                sizes[anchor] = size
            elif isinstance(event, yaml.ScalarEvent):
                opened[-1][1] += 1
                sizes[event.anchor] = 1
            elif isinstance(event, yaml.AliasEvent):
                size = sizes.get(event.anchor, 1)
                opened[-1][1] += size
                repeated += size
                if repeated > MAX_REPEATED:
                    raise ValueError(_TOO_MANY)
    except yaml.YAMLError as error:
        # libyaml has a limit of its own since 0.2.6. It may read 1,000 brackets before it reports the first event.
        if 'exceeded maximum nesting depth' in str(error):
            raise ValueError(_TOO_DEEP) from error
        raise


class Dumper(yaml.CSafeDumper):
    """A dumper that writes equal values in full each time, without YAML's anchors and aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


class Loader(yaml.CSafeLoader):
    """A loader that recognizes only JSON's numbers, and no dates.

    YAML 1.1 would read some MAC addresses as numbers to the base of 60.
    """

    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if pair[0].rpartition(':')[2] not in ('int', 'float', 'timestamp')]
        for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


for _tag, _pattern in (('int', r'-?(0|[1-9][0-9]*)\Z'), ('float', r'-?(0|[1-9][0-9]*)\.[0-9]+([eE][-+]?[0-9]+)?\Z')):
    # The dumper needs the loader's rules, too: it must quote strings that the loader would read as numbers.
    for _class in (Loader, Dumper):
        _class.add_implicit_resolver(f'tag:yaml.org,2002:{_tag}', re.compile(_pattern), list('-0123456789'))
