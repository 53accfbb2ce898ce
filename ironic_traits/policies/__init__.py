"""Policy rules, one module per noun, each rule with the method and path that it guards."""

import itertools

from oslo_policy import policy

from ironic_traits.policies import (
    aggregates,
    allocation_candidates,
    allocations,
    base,
    chassis,
    drivers,
    inventories,
    matches,
    node_states,
    node_traits,
    node_vifs,
    nodes,
    portgroups,
    ports,
    provider_traits,
    reservations,
    reshaper,
    resource_classes,
    resource_providers,
    shards,
    traits,
    usages,
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
    matches,
    drivers,
    chassis,
    ports,
    portgroups,
    volume,
    shards,
    traits,
    resource_classes,
    resource_providers,
    provider_traits,
    inventories,
    aggregates,
    usages,
    allocations,
    allocation_candidates,
    reshaper,
)


def list_rules():
    """All rules, as oslo.policy's generators want them."""
    return list(itertools.chain.from_iterable(noun.RULES for noun in _NOUNS))


def enforcer(conf):
    """Make the enforcer of one service.

    :param conf: ConfigOpts; oslo.policy registers its own options on it.
    """
    enforcer = policy.Enforcer(conf)
    # The Placement rules' defaults have changed once, as everywhere: not a line for each of them at each start.
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(list_rules())
    return enforcer
