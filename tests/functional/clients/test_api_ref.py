"""The API reference is complete, and its samples are real responses.

IRONIC_TRAITS_WRITE_SAMPLES=1 writes the samples anew.
"""

import inspect
import json
import os
import pathlib
import re

import pytest
import wsme.types
from wsme.rest import json as wsme_json

from ironic_traits import failures
from ironic_traits.api.description.operations import operations
from ironic_traits.api.v1 import node_types
from ironic_traits.api.v1.allocations import ALLOCATIONS
from ironic_traits.api.v1.chassis import CHASSIS as CHASSIS_NOUN
from ironic_traits.api.v1.deploy_templates import TEMPLATES
from ironic_traits.api.v1.inspection_rule_fields import RULES
from ironic_traits.api.v1.node_filters import QUERY as LIST_QUERY
from ironic_traits.api.v1.nodes import FIELDS_QUERY
from ironic_traits.api.v1.portgroup_fields import PORTGROUPS
from ironic_traits.api.v1.ports import PORTS
from ironic_traits.api.v1.runbook_fields import RUNBOOKS
from ironic_traits.api.v1.volume import CONNECTORS, TARGETS
from ironic_traits.placement import failures as placement_failures
from ironic_traits.resources.nodes import NODES
from tests.support.api_samples import sampled
from tests.support.client import Client
from tests.support.sample_documents import RECORD
from tests.support.service import make_app, upgraded

SOURCE = pathlib.Path(__file__).parents[3] / 'api-ref' / 'source'
SAMPLES = SOURCE / 'samples'
_TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?\+00:00')
_REQUEST_ID = re.compile(r'req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}')


def test_samples(tmp_path):
    with make_app(upgraded(f'sqlite:///{tmp_path}/samples.sqlite')) as app:
        samples = dict(sampled(Client(app)))
    wrong = []
    for name, sample in samples.items():
        path = SAMPLES / f'{name}.json'
        text = _TIME.sub('2026-01-01T00:00:00.000000+00:00', json.dumps(sample, indent=4)) + '\n'
        text = _REQUEST_ID.sub(f'req-{RECORD}8', text).replace('http://localhost', 'http://127.0.0.1:6385')
        if os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'):
            path.write_text(text)
        if not path.exists() or path.read_text() != text:
            wrong.append(name)
    command = 'IRONIC_TRAITS_WRITE_SAMPLES=1 pytest tests/functional/clients/test_api_ref.py -k samples'
    assert not wrong, f'These files in api-ref/source/samples are out of date. Write them with: {command}'
    assert {path.stem for path in SAMPLES.iterdir()} == set(samples), (
        'Delete the other files in api-ref/source/samples.'
    )


#: {sample: the route whose response it is}.
GIVEN_BY = {
    'nodes-list': 'GET /v1/nodes',
    'facets': 'GET /v1/facets',
    'node-show': 'GET /v1/nodes/{node_ident}',
    'node-children': 'GET /v1/nodes/{node_ident}/children',
    'boot-device': 'GET /v1/nodes/{node_ident}/management/boot_device',
    'boot-devices-supported': 'GET /v1/nodes/{node_ident}/management/boot_device/supported',
    'indicators-list': 'GET /v1/nodes/{node_ident}/management/indicators',
    'indicator-show': 'GET /v1/nodes/{node_ident}/management/indicators/{indicator}',
    'vmedia-list': 'GET /v1/nodes/{node_ident}/vmedia',
    'node-traits': 'GET /v1/nodes/{node_ident}/traits',
    'node-history': 'GET /v1/nodes/{node_ident}/history',
    'node-inventory': 'GET /v1/nodes/{node_ident}/inventory',
    'continue-inspection': 'POST /v1/continue_inspection',
    'node-history-detail': 'GET /v1/nodes/{node_ident}/history',
    'node-history-entry': 'GET /v1/nodes/{node_ident}/history/{event_uuid}',
    'history': 'GET /v1/history',
    'changes': 'GET /v1/changes',
    'node-validate': 'GET /v1/nodes/{node_ident}/validate',
    'node-states': 'GET /v1/nodes/{node_ident}/states',
    'trait-edit': 'POST /v1/traits/edits',
    'inspection-rules-preview': 'POST /v1/inspection_rules/preview',
    'inspection-rules-apply': 'POST /v1/inspection_rules/apply',
    'trait-edit-preview': 'POST /v1/traits/edits',
    'node-actions': 'POST /v1/nodes/actions',
    'node-actions-preview': 'POST /v1/nodes/actions',
    'matches': 'POST /v1/matches',
    'matches-topology': 'POST /v1/matches',
    'match-instance': 'POST /v1/matches',
    'capacity': 'POST /v1/capacity',
    'drift': 'POST /v1/drift',
    'drift-firmware': 'GET /v1/drift',
    'explanation': 'POST /v1/explanations',
    'reservation': 'GET /v1/reservations/{reservation_uuid}',
    'reservations-list': 'GET /v1/reservations',
    'capacity-reservation-show': 'GET /v1/capacity_reservations/{capacity_reservation_ident}',
    'capacity-reservations-list': 'GET /v1/capacity_reservations',
    'node-allocation-show': 'GET /v1/allocations/{allocation_ident}',
    'node-allocation-error': 'POST /v1/allocations',
    'node-allocations-list': 'GET /v1/allocations',
    'catalogue-list': 'GET /v1/traits',
    'catalogue-show': 'GET /v1/traits/{trait}',
    'catalogue-preview': 'PATCH /v1/traits/{trait}',
    'drivers-list': 'GET /v1/drivers',
    'driver-show': 'GET /v1/drivers/{driver_name}',
    'node-vifs': 'GET /v1/nodes/{node_ident}/vifs',
    'chassis-list': 'GET /v1/chassis',
    'chassis-show': 'GET /v1/chassis/{chassis_uuid}',
    'ports-list': 'GET /v1/ports',
    'port-show': 'GET /v1/ports/{port_ident}',
    'portgroups-list': 'GET /v1/portgroups',
    'portgroup-show': 'GET /v1/portgroups/{portgroup_ident}',
    'volume-show': 'GET /v1/volume',
    'volume-connectors-list': 'GET /v1/volume/connectors',
    'volume-connector-show': 'GET /v1/volume/connectors/{connector_uuid}',
    'volume-targets-list': 'GET /v1/volume/targets',
    'mirrors-list': 'GET /v1/mirrors',
    'mirror-show': 'GET /v1/mirrors/{mirror}',
    'conductors-list': 'GET /v1/conductors',
    'conductor-show': 'GET /v1/conductors/{hostname}',
    'deploy-templates-list': 'GET /v1/deploy_templates',
    'deploy-template-show': 'GET /v1/deploy_templates/{template_ident}',
    'inspection-rules-list': 'GET /v1/inspection_rules',
    'inspection-rule-show': 'GET /v1/inspection_rules/{rule_ident}',
    'runbooks-list': 'GET /v1/runbooks',
    'runbook-show': 'GET /v1/runbooks/{runbook_ident}',
    'runbook-traits': 'GET /v1/runbooks/{runbook_ident}/traits',
    'volume-target-show': 'GET /v1/volume/targets/{target_uuid}',
}


@pytest.mark.parametrize(('name', 'route'), GIVEN_BY.items())
def test_responses_have_their_declared_types(name, route):
    """WSME can parse the responses by the types of the API, so each key is declared."""
    (exposed,) = [each.route for each in operations() if str(each) == route]
    response = json.loads((SAMPLES / f'{name}.json').read_text())
    assert wsme_json.fromjson(exposed.return_types[0], response)


@pytest.fixture(scope='module')
def documented():
    """{file: text} of the reference."""
    return {path.stem: path.read_text() for path in SOURCE.glob('*.rst')}


def _check_rows(names, section, where):
    """Check that a section has a row for each parameter.

    :param where: file and section, for the message.
    """
    missing = [f'  - {name}: NAME_IN_PARAMETERS' for name in names if f'  - {name}: ' not in section]
    rows = '\n'.join(missing)
    assert not missing, f'Add to {where}, and describe NAME_IN_PARAMETERS in api-ref/source/parameters.yaml:\n{rows}'


@pytest.mark.parametrize('route', operations(), ids=str)
def test_every_route_is_documented(documented, route):
    line = f'.. rest_method:: {route}\n'
    assert line in '\n'.join(documented.values()), f'Add to the page of the noun in api-ref/source: {line}'


def test_documented_routes_exist(documented):
    named = re.findall(r'rest_method:: (\S+ \S+)', '\n'.join(documented.values()))
    assert sorted(named) == sorted([*map(str, operations()), 'GET /openapi.json', 'GET /healthcheck', 'GET /metrics'])


#: The base class, which both modules have.
FAILURES = dict.fromkeys(
    each
    for module in (failures, placement_failures)
    for _, each in inspect.getmembers(module, inspect.isclass)
    if issubclass(each, failures.Failure)
)


@pytest.mark.parametrize('failure', FAILURES, ids=lambda failure: failure.__name__)
def test_every_failure_is_documented(documented, failure):
    row = rf'^{re.escape(failure.code)} +{failure.status} '
    assert re.search(row, documented['failures'], re.MULTILINE), f'Add {failure.code} to api-ref/source/failures.rst.'


def test_every_argument_of_a_list_is_documented(documented):
    text = documented['nodes'].split('List nodes with all fields')[0]
    _check_rows({**LIST_QUERY, **FIELDS_QUERY}, text, '"List nodes" in api-ref/source/nodes.rst')


def test_every_field_is_documented(documented):
    create, show = (
        re.search(r'Create a node\n=.*?Show a node\n=', documented['nodes'], re.DOTALL)[0],
        documented['nodes'],
    )
    show = show.split('Show a node\n')[1]
    attributes = [attribute.name for attribute in wsme.types.list_attributes(node_types.Node)]
    _check_rows(attributes, show, '"Show a node" in api-ref/source/nodes.rst')
    _check_rows(NODES.settable, create, '"Create a node" in api-ref/source/nodes.rst')


def test_every_field_has_a_type_and_a_version():
    declared = {attribute.name for attribute in wsme.types.list_attributes(node_types.Node)}
    in_table = set(NODES.since) | set(NODES.links) | {'links'}
    assert declared == in_table, 'ironic_traits/api/v1/node_types.py and ironic_traits/resources/nodes.py differ.'


@pytest.mark.parametrize(
    ('noun', 'route'),
    [
        ('matches', 'POST /v1/matches'),
        ('capacity', 'POST /v1/capacity'),
        ('capacity_reservations', 'POST /v1/capacity_reservations'),
        ('explanations', 'POST /v1/explanations'),
        ('drift', 'POST /v1/drift'),
        ('reservations', 'POST /v1/reservations'),
        ('node_allocations', 'POST /v1/allocations'),
        ('trait_catalogue', 'PUT /v1/traits/{trait}'),
        ('trait_catalogue', 'PATCH /v1/traits/{trait}'),
        ('trait_edits', 'POST /v1/traits/edits'),
        ('node_actions', 'POST /v1/nodes/actions'),
    ],
)
def test_every_key_of_a_body_is_documented(documented, noun, route):
    (exposed,) = [each.route for each in operations() if str(each) == route]
    names = [attribute.name for attribute in wsme.types.list_attributes(exposed.typed_body.datatype)]
    _check_rows(names, documented[noun], f'{route} in api-ref/source/{noun}.rst')


@pytest.mark.parametrize(
    'noun',
    [ALLOCATIONS, CHASSIS_NOUN, PORTS, PORTGROUPS, CONNECTORS, TARGETS, TEMPLATES, RUNBOOKS, RULES],
    ids=lambda noun: noun.path,
)
def test_records_are_documented(documented, noun):
    """Each field and each query parameter is documented, and has a type and a version."""
    sections = {}
    for text in documented.values():
        for section in re.split(r'\n(?=[^\n]+\n=+\n\n\.\. rest_method)', text):
            for route in re.findall(r'rest_method:: (\S+ \S+)', section):
                sections[route] = section
    ident = next(
        str(route).rpartition('/')[2] for route in operations() if str(route).startswith(f'DELETE /v1/{noun.path}/')
    )
    exposed = {str(each): each.route for each in operations()}
    show, listed = f'GET /v1/{noun.path}/{ident}', f'GET /v1/{noun.path}'
    shown = exposed[show].return_types[0]
    assert {attribute.name for attribute in wsme.types.list_attributes(shown)} == set(noun.since)
    creation = f'POST /v1/{noun.path}'
    body = [attribute.name for attribute in wsme.types.list_attributes(noun.body)]
    arguments = exposed[listed].query_types
    for route, names in ((show, noun.since), (creation, body), (listed, arguments)):
        _check_rows(names, sections[route], f'{route} in the page of the noun in api-ref/source')
