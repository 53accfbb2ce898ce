"""/v1/shards"""

from typing import Any

from ironic_traits.api import types
from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.context import Context
from ironic_traits.inventory.nodes import shards


class Shard(types.Base):
    """A shard, and the number of its nodes."""

    name = str
    count = int


class Shards(types.Base):
    """All shards."""

    shards = [Shard]


class ShardsController(Resource):
    """The shards of the nodes."""

    since = 82

    @expose('baremetal:shards:get', Shards, since=82)
    def get_all(self, context: Context, /) -> dict[str, Any]:
        # Like Ironic, str() reports nodes without a shard under the name "None".
        return {'shards': [{'name': str(row.shard), 'count': row.count} for row in shards.count_nodes(context)]}
