"""Policy rules, one module per noun, each rule with the method and path that it guards."""

import itertools

from oslo_policy import policy

from ironic_traits.policies import base, drivers, node_states, node_traits, nodes, shards


def list_rules():
    """All rules, as oslo.policy's generators want them."""
    modules = (base, nodes, node_states, node_traits, drivers, shards)
    return list(itertools.chain.from_iterable(module.RULES for module in modules))


def enforcer(conf):
    """Make the enforcer of one service.

    :param conf: ConfigOpts; oslo.policy registers its own options on it.
    """
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults(list_rules())
    return enforcer
