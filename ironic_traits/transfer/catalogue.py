"""The catalogue of traits in documents: what operators say about traits.

    {"traits": [{"name": "CUSTOM_GPU", "description": "Eight GPUs", "exclusive": true}]}

Keys that a trait does not have in the document stay as they are in the service.
"""

import urllib.parse
from collections.abc import Iterator
from typing import Any

from ironic_traits.matching.traits import is_trait
from ironic_traits.resources.fields import Resource
from ironic_traits.resources.values import differ
from ironic_traits.transfer import differences
from ironic_traits.transfer.api_client import ApiClient

#: The noun of a trait in ``documents.units``.
TRAITS = Resource('traits', 'traits', (), ())
#: {key of a trait: its value without a note of an operator}.
NOTES = {'description': None, 'retired': False, 'replaced_by': None, 'exclusive': False}


def problem(item: dict[str, Any]) -> str | None:
    """Return what is wrong with the name of a trait of a document, as a sentence; None if nothing is."""
    name = item.get('name')
    if not isinstance(name, str) or not is_trait(name):
        return f"needs the name of a trait as its 'name', not {name!r}."
    return None


def write(client: ApiClient, item: dict[str, Any]) -> tuple[str, list[str]]:
    """Write what a document says about a trait.

    :returns: 'changed' or 'same', and a line for each change.
    :raises ironic_traits.client.Failed: the service refuses the request.
    """
    url = f'/v1/traits/{urllib.parse.quote(item["name"])}'
    before = NOTES | (client.find(url) or {})
    changes = {key: item[key] for key in NOTES if key in item and differ(before[key], item[key])}
    if not changes:
        return 'same', []
    client.ask('PUT', url, changes)
    lines = list(differences.fields(differences.label(TRAITS, item), before, item, changes))
    return 'changed', lines


def exported(client: ApiClient) -> Iterator[dict[str, Any]]:
    """Generate the traits with a note of an operator, as a document has them."""
    for trait in client.pages('/v1/traits', 'traits', {}):
        # The description of a standard trait is that of os-traits.
        notes = {key: trait[key] for key in NOTES if key != 'description' or trait['custom']}
        if any(notes.values()):
            yield {'name': trait['name'], **notes}
