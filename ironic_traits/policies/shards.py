"""Policy rules of shards."""

from ironic_traits.policies.base import READER_OF_ALL, rule

RULES = [rule('baremetal:shards:get', READER_OF_ALL, 'List the shards of nodes.', 'GET /v1/shards')]
