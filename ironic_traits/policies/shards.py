"""Rules of shards."""

from ironic_traits.policies.base import READER, rule

RULES = [rule('baremetal:shards:get', READER, 'List the shards that nodes are in.', 'GET /v1/shards')]
