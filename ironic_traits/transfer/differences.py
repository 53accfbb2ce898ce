"""What an import changes, in lines for people."""

import json

from oslo_utils import strutils

from ironic_traits.db.types import differ
from ironic_traits.transfer.documents import MASK

#: Keys with secrets that their names do not show: of ``instance_info``.
_SECRET_KEYS = ('configdrive', 'image_url')
#: Longest value that is shown.
_LONGEST = 200


def label(noun, item, of=None):
    """Return what people call an item of a document, as 'port 52:54:00:cf:2d:31 of node rack1-1'.

    :param of: the label of the node that it belongs to.
    """
    values = ([item.get(name) for name in names] for names in (('name',), *reversed(noun.known_by)))
    name = next((' '.join(map(str, each)) for each in values if None not in each), '')
    return f'{noun.what} {name}'.rstrip() + (f' of {of}' if of else '')


def fields(what, old, new, names):
    """Generate a line for each field that differs; secrets are masked.

    :param what: label of the thing.
    :param old: the fields before, a dict.
    :param new: the fields after, a dict.
    :param names: of the fields to compare.
    """
    for name in sorted(names):
        before, after = old.get(name), new.get(name)
        if isinstance(before, dict) and isinstance(after, dict):
            shown_before, shown_after = masked(before), masked(after)
            for key in sorted(before.keys() | after.keys()):
                if key not in before or key not in after or differ({'': before[key]}, {'': after[key]}):
                    yield f'~ {what}: {name}.{key}: {_shown(shown_before, key)} → {_shown(shown_after, key)}'
        elif differ(before, after):
            yield f'~ {what}: {name}: {_shown(old, name)} → {_shown(new, name)}'


def traits(what, old, new):
    """Generate a line for each trait that comes or goes."""
    yield from (f'~ {what}: + trait {name}' for name in sorted(set(new).difference(old)))
    yield from (f'~ {what}: - trait {name}' for name in sorted(set(old).difference(new)))


def masked(document):
    """Return a JSON object without the secrets in it."""
    shown = strutils.mask_dict_password(document, MASK)
    return shown | {key: MASK for key in _SECRET_KEYS if key in shown}


def _shown(document, key):
    if key not in document:
        return 'nothing'
    value = document[key]
    text = json.dumps(masked(value) if isinstance(value, dict) else value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f'{text[:_LONGEST]}…'
