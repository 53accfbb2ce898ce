"""/v1/drift: where flavors, images and nodes do not fit together any more."""

from typing import Any

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.patch import given_fields
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1 import capacity, node_selection
from ironic_traits.api.v1.match_types import Relaxation
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.inspection import firmware
from ironic_traits.inventory.search import drift
from ironic_traits.matching import requests
from ironic_traits.peers import glance
from ironic_traits.resources.additions import ADDED

#: Maximum number of images in one request.
MAX_IMAGES = 1000


class DriftBody(types.Base):
    """Flavors and images."""

    flavors = [types.OBJECT]
    nova_flavors = types.Any()
    images = [types.OBJECT]
    exclusive = [types.Trait()]


class UnsatisfiedFlavor(types.Base):
    """A flavor that no node matches, and what to drop from it."""

    name = str
    relaxation = Relaxation


class UnusedTrait(types.Base):
    """A trait of nodes that no flavor and no image names."""

    trait = str
    nodes = int


class UnreachedNode(types.Base):
    """A node that no flavor matches."""

    uuid = types.UUID
    name = str


class RetiredTrait(types.Base):
    """A retired trait that is used."""

    trait = str
    nodes = int
    flavors = [str]
    images = [str]


class AbsentTrait(types.Base):
    """A trait that images require and no node has."""

    trait = str
    images = [str]


class ChangedFlavor(types.Base):
    """A flavor that matches other nodes if other traits are exclusive: how many it matches now, and then."""

    name = str
    now = int
    then = int


class Drift(types.Base):
    """What does not fit together."""

    unsatisfied = [UnsatisfiedFlavor]
    unused_traits = [UnusedTrait]
    unreached = int
    unreached_nodes = [UnreachedNode]
    retired_traits = [RetiredTrait]
    absent_image_traits = [AbsentTrait]
    changed_flavors = [ChangedFlavor]
    warnings = [str]


class Firmware(types.Base):
    """A version of a part of a model's firmware, and how many nodes have it."""

    vendor = str
    model = str
    name = str
    version = str
    nodes = int


class FirmwareDrift(types.Base):
    """The versions of the firmware of nodes."""

    firmware = [Firmware]


class DriftController(Resource):
    """Drift."""

    since = ADDED

    @expose('baremetal:capacity:get', FirmwareDrift, since=ADDED)
    def get_all(self, context: Context, grant: Grant, /) -> dict[str, Any]:
        return {'firmware': firmware.count(context, grant)}

    @expose('baremetal:capacity:get', Drift, since=ADDED, body=DriftBody)
    def post(self, context: Context, grant: Grant, /, *, body: Any) -> dict[str, Any]:
        fields = given_fields(body)
        flavors, sentences = capacity.read_flavors(context, grant, fields)
        images = _images(context, node_selection.names(fields, 'images'))
        ignored = [f'Image {name}: {sentence}' for name, request in images.items() for sentence in request.warnings]
        changed = []
        if 'exclusive' in fields:
            more = node_selection.names(fields, 'exclusive')
            exclusive = context.service.noted_traits.exclusive(context).union(more)
            changed = drift.changed_flavors(context, grant, flavors, exclusive)
        return {
            **drift.find(context, grant, flavors, images)._asdict(),
            'changed_flavors': changed,
            'warnings': [*sentences, *ignored],
        }


def _images(context: Context, documents: list[dict[str, Any]]) -> dict[str, requests.Request]:
    """Return {name: requirements} of images.

    :param documents: [{'name', 'properties'} or {'name', 'id'}, …].
    """
    if len(documents) > MAX_IMAGES:
        raise failures.InvalidInput(reason=f"'images' has {len(documents)} items. At most {MAX_IMAGES} are allowed.")
    images = {}
    for number, document in enumerate(documents):
        name = document.get('name')
        if not isinstance(name, str) or document.keys() - {'name', 'id', 'properties'}:
            raise failures.InvalidInput(
                reason=f"'images', number {number} needs a 'name', and 'properties' or an 'id'."
            )
        # The name is only what the client calls it.
        unnamed = {key: value for key, value in document.items() if key != 'name'}
        images[name] = requests.understand(image=glance.image(context, unnamed))
    return images
