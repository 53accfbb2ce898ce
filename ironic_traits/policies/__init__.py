"""Policy rules, one module per noun, each rule with the method and path that it guards."""

import itertools

from oslo_policy import policy

from ironic_traits.policies import (
    base,
    chassis,
    drivers,
    node_states,
    node_traits,
    node_vifs,
    nodes,
    portgroups,
    ports,
    reservations,
    shards,
    volume,
)

#: Those with rules.
_NOUNS = (
    base,
    nodes,
    node_states,
    node_traits,
    node_vifs,
    reservations,
    drivers,
    chassis,
    ports,
    portgroups,
    volume,
    shards,
)


def list_rules():
    """All rules, as oslo.policy's generators want them."""
    return list(itertools.chain.from_iterable(noun.RULES for noun in _NOUNS))


def enforcer(conf):
    """Make the enforcer of one service.

    :param conf: ConfigOpts; oslo.policy registers its own options on it.
    """
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults(list_rules())
    return enforcer
