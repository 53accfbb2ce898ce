"""Each resource has one table of its fields, and all layers agree with it."""

import dataclasses
import subprocess
import sys

import pytest
import wsme.types

from ironic_traits import policies
from ironic_traits.api import types
from ironic_traits.api.description.operations import operations
from ironic_traits.api.v1 import (
    allocations,
    chassis,
    deploy_templates,
    inspection_rule_fields,
    node_types,
    portgroup_fields,
    ports,
    runbook_fields,
    volume,
)
from ironic_traits.api.v1 import node_filters as node_queries
from ironic_traits.inventory.core import node_filters
from ironic_traits.resources import (
    ALLOCATIONS,
    CHASSIS,
    CONNECTORS,
    DEPLOY_TEMPLATES,
    INSPECTION_RULES,
    NODES,
    PORTGROUPS,
    PORTS,
    RESOURCES,
    RUNBOOKS,
    TARGETS,
)
from ironic_traits.resources.fields import Argument, Field, Filter, Rule, When
from tests.support.resources import declared, problems

#: Rules of nodes with names like those of single fields.
_NOT_OF_A_FIELD = {
    'baremetal:node:update',
    'baremetal:node:update_owner_provisioned',
    'baremetal:node:get:filter_threshold',
}
_RULES = {
    rule.name
    for rule in policies.list_rules()
    if rule.name.startswith(('baremetal:node:update', 'baremetal:node:disable', 'baremetal:node:get:'))
} - _NOT_OF_A_FIELD
_TARGET_RULES = {rule.name for rule in policies.list_rules() if 'view_target' in rule.name}
_RUNBOOK_RULES = {rule.name for rule in policies.list_rules() if rule.name.startswith('baremetal:runbook:update:')}
#: The filters by traits share one condition (inventory/traits/node_traits.py).
_CONDITIONS = {*node_filters.CONDITIONS, *node_queries.TRAIT_FILTERS}

#: {resource: fields that ``computed`` of its ``Kind`` computes}.
_COMPUTED = {RUNBOOKS: runbook_fields.RUNBOOKS.kind.computed.keys()}

#: Parameters of lists of records for which ``inventory.records.records.find`` has conditions.
_OF_PORTGROUPS = {'node', 'shard', 'conductor_groups'}
_OF_PORTS = {*_OF_PORTGROUPS, 'portgroup', 'description_contains'}

LAYERS = {
    NODES: declared(NODES, node_types.Settable, node_types.Node, _RULES, _CONDITIONS),
    CHASSIS: declared(CHASSIS, chassis.ChassisBody, chassis.Chassis),
    PORTGROUPS: declared(PORTGROUPS, portgroup_fields.PortgroupBody, portgroup_fields.Portgroup, (), _OF_PORTGROUPS),
    PORTS: declared(PORTS, ports.PortBody, ports.Port, (), _OF_PORTS),
    CONNECTORS: declared(CONNECTORS, volume.ConnectorBody, volume.Connector, (), {'node'}),
    ALLOCATIONS: declared(ALLOCATIONS, allocations.AllocationFields, allocations.Allocation, (), {'node'}),
    TARGETS: declared(TARGETS, volume.TargetBody, volume.Target, _TARGET_RULES, {'node'}),
    DEPLOY_TEMPLATES: declared(DEPLOY_TEMPLATES, deploy_templates.TemplateBody, deploy_templates.Template),
    RUNBOOKS: declared(RUNBOOKS, runbook_fields.RunbookBody, runbook_fields.Runbook, _RUNBOOK_RULES, {'project'}),
    INSPECTION_RULES: declared(
        INSPECTION_RULES, inspection_rule_fields.InspectionRuleBody, inspection_rule_fields.InspectionRule
    ),
}


@pytest.mark.parametrize('resource', RESOURCES, ids=lambda resource: resource.name)
def test_every_fact_is_declared_in_full(resource):
    assert list(problems(resource, LAYERS[resource])) == []


@pytest.mark.parametrize('resource', RESOURCES, ids=lambda resource: resource.name)
def test_every_name_occurs_once(resource):
    names = [field.name for field in resource.fields]
    assert len(names) == len(set(names))
    assert len(resource.list_filters) == len(resource.filters) + sum(1 for field in resource.fields if field.filter)


_UPDATE_COLOUR = Rule('baremetal:node:update:colour', '', 'Change the colour of a node.')
#: A complete declaration of a field: in the table, and in all layers.
COLOUR = Field('colour', 82, When.ALWAYS, filter=Filter(Argument.TEXT), change_rule=_UPDATE_COLOUR)


def _table(field=COLOUR, **more):
    return dataclasses.replace(NODES, fields=(*NODES.fields, field), **more)


def _layers(**more):
    layers = LAYERS[NODES]
    complete = {name: getattr(layers, name) | {'colour'} for name in ('body', 'item')}
    complete |= {name: getattr(layers, name) | {_UPDATE_COLOUR.name} for name in ('policies', 'rules')}
    return dataclasses.replace(layers, **complete | {'columns': layers.columns | {'colour': False}} | more)


_WITH_HUE = _CONDITIONS | {'hue'}


def _colour(**more):
    return _table(dataclasses.replace(COLOUR, **more))


#: {missing declaration: (table, layers, the only problem)}.
INCOMPLETE = {
    'settable': (
        *(_colour(settable=When.NEVER), _layers()),
        'clients can send colour, but the table does not say when it is settable.',
    ),
    'field of a list': (
        *(_table(listed=('uuid', 'hue')), _layers()),
        'hue is listed or required, but no field.',
    ),
    'key of requests': (
        *(_table(), _layers(body=LAYERS[NODES].body)),
        'colour is settable, but the WSME type of requests lacks it.',
    ),
    'key of responses': (
        *(_table(), _layers(item=LAYERS[NODES].item)),
        'the WSME type of responses lacks colour.',
    ),
    'field of a key': (
        *(_table(), _layers(item=LAYERS[NODES].item | {'colour', 'shape'})),
        'responses have shape, which the table lacks.',
    ),
    'field of a column': (
        *(_table(), _layers(columns=LAYERS[NODES].columns | {'colour': False, 'shape': False})),
        'the column shape has no field in the table.',
    ),
    'column': (
        *(_colour(filter=None), _layers(columns=LAYERS[NODES].columns)),
        'colour has no column in db/tables/.',
    ),
    'column of the mask': (
        *(_colour(secrets_rule='show_password'), _layers()),
        'colour_masked has no column in db/tables/.',
    ),
    'default': (
        *(_table(), _layers(columns=LAYERS[NODES].columns | {'colour': True})),
        'colour cannot be null, and needs a default in the table, or must be required.',
    ),
    'version of a filter': (
        *(
            _table(filters=(*NODES.filters, Filter(Argument.TEXT, name='hue'))),
            _layers(conditions=_WITH_HUE),
        ),
        'the filter hue has no version.',
    ),
    'condition of a filter': (
        *(_table(filters=(*NODES.filters, Filter(Argument.TEXT, 82, 'hue'))), _layers()),
        'the filter hue is no column, and has no condition in inventory.',
    ),
    'filter of a condition': (
        *(_table(), _layers(conditions=_WITH_HUE)),
        'inventory has a condition for hue, which is no filter.',
    ),
    'field of a rule': (
        *(_colour(change_rule=None), _layers()),
        'no field names the policy rule baremetal:node:update:colour, so it is never asked.',
    ),
    'rule of a field': (
        *(_table(), _layers(policies=LAYERS[NODES].policies)),
        'a field names the policy rule baremetal:node:update:colour, which policies/ lacks.',
    ),
}


def test_a_field_that_is_declared_in_full_is_no_problem():
    assert list(problems(_table(), _layers())) == []


@pytest.mark.parametrize('missing', INCOMPLETE)
def test_what_is_missing_is_named(missing):
    table, layers, problem = INCOMPLETE[missing]
    assert list(problems(table, layers)) == [f'nodes: {problem}']


@pytest.mark.parametrize('resource', RESOURCES, ids=lambda resource: resource.name)
def test_lists_take_the_filters_of_the_table(resource):
    (route,) = [each.route for each in operations() if str(each) == f'GET /v1/{resource.path}']
    filters = {each.argument for each in resource.list_filters.values()}
    detail = {'detail'} if resource.detail_since else set()
    changed = {'changed-since'} if resource.name == 'nodes' else set()
    paging = {'limit', 'marker', 'sort_key', 'sort_dir'}
    assert route.query_types.keys() == filters | {*paging, 'fields'} | detail | changed


@pytest.mark.parametrize('resource', RESOURCES[1:], ids=lambda resource: resource.name)
def test_tables_of_records_say_only_what_records_support(resource):
    """Only nodes have fields that only PATCH sets, and only allocations have fields that only POST sets.

    Only nodes and runbooks have rules for changes: see api/v1/records.py and api/v1/runbooks.py.
    """
    at_creation = {'candidate_nodes', 'owner', 'resource_class', 'traits'} if resource is ALLOCATIONS else set()
    assert {field.name: field.settable for field in resource.fields if field.settable is not When.NEVER} == {
        **dict.fromkeys(resource.settable, When.ALWAYS),
        **dict.fromkeys({'uuid', *at_creation}, When.AT_CREATION),
    }
    assert resource.change_rules == () or resource is RUNBOOKS
    assert {field.name for field in resource.fields if not field.is_column} == _COMPUTED.get(resource, frozenset())
    assert all(field.is_selectable for field in resource.fields)


@pytest.mark.parametrize('module', [
    'client', 'osc', 'osc.inventory', 'osc.matches', 'osc.mirrors', 'osc.node_actions', 'osc.nodes', 'osc.reservations',
    'osc.rule_runs', 'osc.trait_catalogue', 'osc.trait_edits', 'osc.traits', 'resources',
    'transfer.documents', 'transfer.exports', 'transfer.files', 'transfer.imports',
])  # fmt: skip
def test_clients_load_no_library_of_the_service(module):
    command = (
        f'import sys, ironic_traits.{module}\n'
        'print(*(name for name in ("sqlalchemy", "oslo_db", "alembic", "wsme", "pecan") if name in sys.modules))'
    )
    done = subprocess.run([sys.executable, '-c', command], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_types_know_the_order_of_their_attributes():
    """Types declare the order of their attributes. WSME's search for it would take half of the service's start."""
    ours = [each for each in wsme.types.registry.complex_types if each.__module__.startswith('ironic_traits.')]
    assert len(ours) > 50
    assert [each for each in ours if not issubclass(each, types.Base)] == []
    assert [field.name for field in wsme.types.list_attributes(types.Link)] == ['href', 'rel', 'type']
    names = [field.name for field in wsme.types.list_attributes(node_types.Node)]
    # Those of the class itself come first, then those of its bases.
    assert names[:2] == ['provision_state', 'target_provision_state']
    assert names.index('created_at') < names.index('links') < names.index('uuid') < names.index('driver')
