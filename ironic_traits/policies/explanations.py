"""Policy rules of explanations."""

from ironic_traits.policies.base import rule
from ironic_traits.resources.roles import READER_OF_ALL

RULES = [
    rule(
        'baremetal:explanation:get',
        READER_OF_ALL,
        'Explain why a query for allocation candidates has none, or few, counting all resource providers.',
        'POST /v1/explanations',
    ),
]
