"""/v1/traits"""

from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.trait_edits import SINCE, TraitEditsController


class TraitsController(Resource):
    """The traits of all nodes."""

    since = SINCE
    children = {'edits': TraitEditsController()}
