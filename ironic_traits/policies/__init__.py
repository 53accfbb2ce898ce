"""Policy rules, one module per kind of resource. Each rule lists the methods and paths that it guards."""

import itertools

from oslo_config import cfg
from oslo_policy import policy

from ironic_traits.policies import (
    aggregates,
    allocation_candidates,
    allocations,
    base,
    capacity,
    capacity_reservations,
    changes,
    chassis,
    conductors,
    deploy_templates,
    drivers,
    explanations,
    history,
    inspection,
    inspection_rules,
    inventories,
    matches,
    mirrors,
    node_allocations,
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
    rule_runs,
    runbooks,
    shards,
    trait_catalogue,
    trait_edits,
    traits,
    unserved,
    usages,
    volume,
)
from ironic_traits.policies.decisions import Enforcer

#: The modules with rules.
_MODULES = (
    base,
    nodes,
    node_states,
    node_traits,
    trait_edits,
    node_vifs,
    reservations,
    node_allocations,
    history,
    inspection,
    changes,
    matches,
    capacity,
    capacity_reservations,
    explanations,
    drivers,
    conductors,
    mirrors,
    chassis,
    ports,
    portgroups,
    volume,
    deploy_templates,
    runbooks,
    inspection_rules,
    rule_runs,
    shards,
    trait_catalogue,
    unserved,
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


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules, for the service and for oslo.policy's generators."""
    return list(itertools.chain.from_iterable(module.RULES for module in _MODULES))


def enforcer(conf: cfg.ConfigOpts) -> Enforcer:
    """Return a policy enforcer with all rules registered.

    :param conf: the configuration, on which oslo.policy registers its own options.
    """
    enforcer = Enforcer(conf)
    # The defaults of the Placement rules have changed once, as in openstack-placement. This prevents a warning for each
    # of these rules at every start.
    enforcer.suppress_default_change_warnings = True
    enforcer.suppress_deprecation_warnings = True
    enforcer.register_defaults(list_rules())
    return enforcer
