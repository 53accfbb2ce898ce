"""The filters of a list of nodes: the version that brought each, and its type."""

from ironic_traits import failures
from ironic_traits.api import paging, types
from ironic_traits.deploy import states
from ironic_traits.matching.traits import MAX_ANY_OF, MAX_NAMES, Filter

#: The filters, each with the minor version that brought it.
SINCE = {
    'instance_uuid': 1,
    'associated': 1,
    'chassis_uuid': 1,
    'maintenance': 1,
    'provision_state': 9,
    'driver': 16,
    'resource_class': 21,
    'traits': 37,
    'traits_any': 37,
    'not_traits': 37,
    'not_traits_any': 37,
    'eligible': 38,
    'reserved': 38,
    'fault': 42,
    'conductor_group': 46,
    'conductor': 49,
    'owner': 50,
    'description_contains': 51,
    'retired': 61,
    'lessee': 65,
    'project': 65,
    'shard': 82,
    'sharded': 82,
}
TRAIT_FILTERS = ('traits', 'traits_any', 'not_traits', 'not_traits_any')

QUERY = {
    **paging.QUERY,
    'instance_uuid': types.UUID,
    'associated': types.BOOLEAN,
    'chassis_uuid': types.UUID,
    'maintenance': types.BOOLEAN,
    'provision_state': types.TEXT,
    'driver': types.TEXT,
    'resource_class': types.TEXT,
    'traits': [types.TraitNames()],
    'traits-any': [types.TraitNames()],
    'not-traits': [types.TraitNames()],
    'not-traits-any': [types.TraitNames()],
    'eligible': types.BOOLEAN,
    'reserved': types.BOOLEAN,
    'fault': types.Fault(),
    'conductor_group': types.ConductorGroup(),
    'conductor': types.TEXT,
    'owner': types.TEXT,
    # SQLite limits LIKE patterns to about ten times this length.
    'description_contains': types.Text(maximum=4096),
    'retired': types.BOOLEAN,
    'lessee': types.TEXT,
    'project': types.TEXT,
    'shard': types.Texts(),
    'sharded': types.BOOLEAN,
}


def parse(context, query):
    """Return the filters of a request.

    :param query: {filter: value}. Other keys are ignored.
    :returns: (filters as ``inventory.node_filters`` takes them, ironic_traits.matching.traits.Filter).
    :raises failures.VersionTooLow: a filter needs a later version.
    :raises failures.InvalidInput: there is no such provision state, or there are too many traits.
    """
    for name, minor in SINCE.items():
        if name in query:
            context.needs(minor, f"the filter '{name.replace('_', '-') if name in TRAIT_FILTERS else name}'")
    state = query.get('provision_state')
    if state is not None and state not in states.PROVISION_STATES:
        raise failures.InvalidInput(reason=f'Provision state "{state}" is not valid')
    filters = {name: query[name] for name in SINCE if name in query and name not in TRAIT_FILTERS}
    # There is only one conductor, this service, so its name selects all nodes.
    if filters.get('conductor') == context.conf.host:
        del filters['conductor']
    traits = {name: query[name] for name in TRAIT_FILTERS if name in query}
    if sum(len(names) for values in traits.values() for names in values) > MAX_NAMES:
        raise failures.InvalidInput(reason=f'The trait filters name more than {MAX_NAMES} traits.')
    trait_filter = Filter.of(**traits)
    if len(trait_filter.any_of) > MAX_ANY_OF:
        raise failures.InvalidInput(reason=f'traits-any may be repeated at most {MAX_ANY_OF} times.')
    return filters, trait_filter
