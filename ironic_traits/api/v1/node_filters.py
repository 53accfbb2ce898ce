"""The filters of a list of nodes."""

from typing import Any

from ironic_traits import failures, spelling
from ironic_traits.api import arguments, paging
from ironic_traits.context import Context
from ironic_traits.deploy import states
from ironic_traits.matching.traits import MAX_ANY_OF, MAX_NAMES, Filter
from ironic_traits.resources.fields import Argument
from ironic_traits.resources.nodes import NODES

TRAIT_FILTERS = tuple(each.name for each in NODES.list_filters.values() if each.type is Argument.TRAITS)
QUERY = {**paging.QUERY, **arguments.query(NODES)}


def parse(context: Context, query: dict[str, Any]) -> tuple[dict[str, Any], Filter]:
    """Return the filters of a request.

    :param query: {filter: value}. Other keys are ignored.
    :returns: the filters as ``inventory.core.node_filters`` takes them, and that of traits.
    :raises failures.VersionTooLow: a filter needs a later version.
    :raises failures.InvalidInput: there is no such provision state, or there are too many traits.
    """
    arguments.check_versions(context, NODES, query)
    for name in query.get('without', ()):
        context.needs(NODES.since[name], f"the field '{name}'")
    state = query.get('provision_state')
    if state is not None and state not in states.PROVISION_STATES:
        hint = spelling.hint(state, states.PROVISION_STATES)
        raise failures.InvalidInput(reason=f'Provision state "{state}" is not valid.{hint}')
    filters = {name: query[name] for name in NODES.list_filters if name in query and name not in TRAIT_FILTERS}
    # As in Ironic, an empty name is no filter.
    if hostname := filters.pop('conductor', None):
        filters['conductor'] = context.service.conductors.host(context, hostname)
    traits = {name: query[name] for name in TRAIT_FILTERS if name in query}
    if sum(len(names) for values in traits.values() for names in values) > MAX_NAMES:
        raise failures.InvalidInput(reason=f'The trait filters name more than {MAX_NAMES} traits.')
    trait_filter = Filter.of(**traits)
    if len(trait_filter.any_of) > MAX_ANY_OF:
        raise failures.InvalidInput(reason=f'traits-any may be repeated at most {MAX_ANY_OF} times.')
    return filters, trait_filter
