"""Rules of shards."""

from ironic_traits.policies.base import SEES_ALL, rule

RULES = [rule('baremetal:shards:get', SEES_ALL, 'List the shards that nodes are in.', 'GET /v1/shards')]
