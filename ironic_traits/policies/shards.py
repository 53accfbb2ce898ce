"""Policy rules of shards."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER_OF_ALL

RULES = [rule('baremetal:shards:get', READER_OF_ALL, 'List the shards of nodes.', 'GET /v1/shards')]
