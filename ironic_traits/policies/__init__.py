"""Policy rules, one module per noun, each rule with the method and path that it guards."""

import itertools

from oslo_policy import policy

from ironic_traits.policies import base, drivers, node_traits, nodes


def list_rules():
    """All rules, as oslo.policy's generators want them."""
    return list(itertools.chain(base.RULES, nodes.RULES, node_traits.RULES, drivers.RULES))


def enforcer(conf):
    """Make the enforcer of one service.

    :param conf: ConfigOpts; oslo.policy registers its own options on it.
    """
    enforcer = policy.Enforcer(conf)
    enforcer.register_defaults(list_rules())
    return enforcer
