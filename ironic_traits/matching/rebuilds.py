"""Whether what an instance holds fulfils a request: the check that comes before a rebuild; pure."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Held:
    """A provider that an instance holds.

    :ivar uuid: of the provider.
    :ivar traits: a frozenset.
    :ivar is_node: whether it is a node: what is deployed to it is checked against its own traits alone.
    """

    uuid: str
    traits: frozenset
    is_node: bool


def check(request, held):
    """Tell what each provider lacks, or has and may not have.

    A node must have all required traits itself, or the rebuild would be refused.  Of other providers, nested ones
    among them, it is enough when one has what another one lacks, as nova's image-traits specification has it.

    :param request: ironic_traits.matching.requests.Request.
    :param held: [Held, …].
    :returns: [{'uuid': …, 'missing': [trait, …], 'forbidden': [trait, …]}, …], and ``missing_any``, [[trait, …], …],
        where the request has such.  All of them are empty when the request is fulfilled.
    """
    together = frozenset().union(*(each.traits for each in held))
    return [_look(request, each, each.traits if each.is_node else together) for each in held]


def fulfilled(providers):
    """Tell whether what ``check`` gave says yes."""
    return not any(provider[key] for provider in providers for key in provider if key != 'uuid')


def _look(request, held, present):
    looked = {
        'uuid': held.uuid,
        'missing': sorted(request.required - present),
        'forbidden': sorted(request.forbidden & held.traits),
    }
    if request.required_any:
        looked['missing_any'] = [sorted(one_of) for one_of in request.required_any if not one_of & present]
    return looked
