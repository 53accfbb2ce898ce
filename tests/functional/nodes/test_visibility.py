"""The nodes, records and fields that each persona sees and changes."""

import shutil

import pytest
import sqlalchemy as sa

from ironic_traits.api.expose import expose
from ironic_traits.api.resource import Resource
from ironic_traits.api.v1.root import V1Controller
from ironic_traits.db import tables
from ironic_traits.deploy import states
from tests.support.client import Client, message
from tests.support.personas import INSTANCE, MATRIX, NODE, PERSONAS, RECORD, RESERVED, VIF, headers
from tests.support.service import finish_work, make_app

LISTS = {
    'GET /v1/nodes': ('nodes', 2),
    'GET /v1/nodes/detail': ('nodes', 2),
    'GET /v1/ports': ('ports', 1),
    'GET /v1/portgroups': ('portgroups', 1),
    'GET /v1/volume/connectors': ('connectors', 1),
    'GET /v1/volume/targets': ('targets', 1),
    'GET /v1/reservations': ('reservations', 1),
    'POST /v1/matches': ('nodes', 1),
}


@pytest.mark.parametrize('route', LISTS)
def test_lists_have_the_visible_rows(ask, route):
    key, count = LISTS[route]
    for persona in PERSONAS:
        if persona not in ('nobody', 'domain_admin'):
            # A service sees the nodes that its project owns. The stranger's project owns none.
            expected = 0 if persona.startswith('stranger') else count
            response = ask(persona, route, {} if route.startswith('POST') else None)
            assert len(response.json[key]) == expected, persona


def test_matches_name_deploy_templates_for_those_who_may_see_them(ask):
    for persona in PERSONAS:
        if persona not in ('nobody', 'domain_admin'):
            response = ask(persona, 'POST /v1/matches', {'required': ['CUSTOM_A']})
            may_see = persona in ('system_admin', 'system_member', 'system_reader')
            assert response.json.get('deploy_templates') == (['CUSTOM_A'] if may_see else None), persona


@pytest.mark.parametrize(
    ('persona', 'redacted'),
    [('system_reader', False), ('service', False), ('owner_reader', False), ('lessee_reader', True)],
)
def test_fields_redacted_for_lessees(ask, persona, redacted):
    redaction = '** Redacted - requires baremetal:node:get:{} permission. **'
    for path in (
        f'/v1/nodes/{NODE}',
        f'/v1/nodes/{NODE}?fields=driver_info,driver_internal_info,last_error,reservation',
    ):
        node = ask(persona, f'GET {path}').json
        for name in ('driver_info', 'driver_internal_info'):
            assert ('content' in node[name]) == redacted
        assert node['last_error'] == (redaction.format('last_error') if redacted else None)
        if not redacted:
            assert node['driver_info'] == {'address': 'x', 'password': '******'}
    nodes = ask(persona, 'GET /v1/nodes/detail').json['nodes']
    assert ['content' in node['driver_info'] for node in nodes] == [redacted, redacted]


@pytest.mark.parametrize(
    ('persona', 'shown'),
    [
        ('system_reader', True),
        ('service', True),
        ('owner_admin', True),
        ('owner_manager', False),
        ('lessee_reader', False),
    ],
)
def test_volume_properties_need_a_permission(ask, persona, shown):
    target = {'node_uuid': NODE, 'volume_type': 'iscsi', 'boot_index': 1, 'volume_id': 'y', 'properties': {'lun': 1}}
    uuid = ask('system_admin', 'POST /v1/volume/targets', target).json['uuid']
    redacted = '** Value redacted: Requires permission baremetal:volume:view_target_properties access. {}'
    expected = {'lun': 1} if shown else {'redacted_contents': redacted.format('Permission denied. **')}
    assert ask(persona, f'GET /v1/volume/targets/{uuid}').json['properties'] == expected
    targets = ask(persona, 'GET /v1/nodes/{node_ident}/volume/targets?detail=true').json['targets']
    assert targets[1]['properties'] == expected


def test_only_the_system_changes_the_owner_of_an_active_node(ask):
    work = {'target': 'active'}
    assert ask('system_admin', 'PUT /v1/nodes/{node_ident}/states/provision', work).status_int == 202
    finish_work(ask.app)
    patch = [{'op': 'replace', 'path': '/owner', 'value': 'delta'}]
    response = ask('system_member', 'PATCH /v1/nodes/{node_ident}', patch)
    assert (response.status_int, 'Cannot update owner' in response.text) == (409, True)
    assert ask('system_admin', 'PATCH /v1/nodes/{node_ident}', patch).json['owner'] == 'delta'


def test_field_rules_are_skipped_above_the_threshold(access_template, tmp_path):
    """As in Ironic: a caller who sees nodes unredacted sees all of their fields."""
    (tmp_path / 'policy.yaml').write_text('"baremetal:node:get:driver_info": "!"\n')
    shutil.copy(access_template[0], tmp_path / 'copy.sqlite')
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    with make_app(f'sqlite:///{tmp_path}/copy.sqlite', **options) as app:
        for persona, shown in (('system_reader', True), ('owner_admin', False)):
            node = Client(app).ask('GET', f'/v1/nodes/{NODE}', headers=headers(persona)).json
            assert ('address' in node['driver_info']) == shown


def test_history_of_visible_nodes(ask):
    """A list has exactly the histories that the caller may see one by one. Few callers see those of deleted nodes."""
    gone = ask('system_admin', 'POST /v1/nodes', {'driver': 'fake-hardware', 'owner': 'alpha'}).json['uuid']
    assert ask('system_admin', f'DELETE /v1/nodes/{gone}').status_int == 204
    everything = {NODE, RESERVED, gone}
    for persona in PERSONAS:
        if persona in ('nobody', 'domain_admin'):
            continue
        entries = ask(persona, 'GET /v1/history').json['history']
        whose = persona.partition('_')[0]
        expected = {'owner': {NODE, RESERVED}, 'lessee': set(), 'stranger': set()}.get(whose, everything)
        assert {entry['node_uuid'] for entry in entries} == expected, persona
        one_by_one = {
            uuid for uuid in (NODE, RESERVED) if ask(persona, f'GET /v1/nodes/{uuid}/history').status_int == 200
        }
        assert one_by_one == expected - {gone}, persona
        status = ask(persona, f'GET /v1/history?node={NODE}').status_int
        assert status == (200 if expected else 404), persona
        of_gone = ask(persona, f'GET /v1/history?node={gone}')
        if expected == everything:
            assert [entry['event'] for entry in of_gone.json['history']] == [
                'The node was created.',
                'The node was deleted.',
            ]
        else:
            assert of_gone.status_int == 404, persona
        marker = f'GET /v1/history?marker={ask("system_admin", "GET /v1/history").json["history"][-1]["uuid"]}'
        assert ask(persona, marker).status_int == (200 if expected == everything else 404), persona


def test_policy_can_show_history_to_lessees(access_template, tmp_path):
    rules = '"baremetal:node:history:get": "rule:lessee_reader"'
    (tmp_path / 'policy.yaml').write_text(rules + '\n')
    shutil.copy(access_template[0], tmp_path / 'copy.sqlite')
    options = {'api__auth_strategy': 'noauth2', 'oslo_policy__policy_file': str(tmp_path / 'policy.yaml')}
    with make_app(f'sqlite:///{tmp_path}/copy.sqlite', **options) as app:
        for persona, count in (('lessee_reader', 2), ('owner_reader', 0), ('system_admin', 0)):
            response = Client(app).ask('GET', '/v1/history', headers=headers(persona))
            if persona == 'system_admin':
                assert response.status_int == 403
                continue
            assert len({entry['node_uuid'] for entry in response.json['history']}) == count, persona


def test_creators_without_the_system_scope_own_their_nodes(ask):
    """A caller who may not create nodes for other projects creates them for their own project."""
    body = {'driver': 'fake-hardware'}
    assert ask('system_admin', 'POST /v1/nodes', body).json['owner'] is None
    assert ask('system_admin', 'POST /v1/nodes', body | {'owner': 'delta'}).json['owner'] == 'delta'
    node = ask('stranger_admin', 'POST /v1/nodes', body).json
    assert node['owner'] == 'gamma'
    assert ask('stranger_admin', 'POST /v1/nodes', body | {'owner': 'gamma'}).json['owner'] == 'gamma'
    assert ask('stranger_admin', 'POST /v1/nodes', body | {'owner': 'alpha'}).status_int == 403
    patch = [{'op': 'replace', 'path': '/owner', 'value': 'alpha'}]
    assert ask('stranger_admin', f'PATCH /v1/nodes/{node["uuid"]}', patch).status_int == 403
    assert ask('stranger_admin', f'DELETE /v1/nodes/{node["uuid"]}').status_int == 204


_USERS = {'owner_member', 'lessee_member', 'lessee_admin', 'system_member'}
_OWNERS = {'owner_member', 'system_member'}
#: [(field, value, the personas that may set the value), …].
FIELDS = [
    ('description', 'x', _USERS),
    ('extra', {'a': 1}, _USERS),
    ('instance_info', {'a': 1}, {'owner_member', 'lessee_admin', 'system_member'}),
    ('driver_info', {'a': 1}, _OWNERS),
    ('name', 'x', _OWNERS),
    ('lessee', 'x', _OWNERS),
    ('owner', 'x', {'system_member'}),
    ('shard', 'x', set()),
    ('automated_clean', True, _USERS),
    ('automated_clean', None, _USERS),
    # Only the system's admin switches it off.
    ('automated_clean', False, set()),
    ('automated_clean', 'false', set()),
]


@pytest.mark.parametrize(('field', 'value', 'allowed'), FIELDS)
def test_rules_of_fields(ask, field, value, allowed):
    patch = [{'op': 'add', 'path': f'/{field}', 'value': value}]
    for persona in ('owner_reader', 'lessee_reader', 'owner_member', 'lessee_member', 'lessee_admin', 'system_member'):
        before = [{'op': 'add', 'path': '/owner', 'value': 'alpha'}, {'op': 'add', 'path': '/lessee', 'value': 'beta'}]
        assert ask('system_member', 'PATCH /v1/nodes/{node_ident}', before).status_int == 200
        status = ask(persona, 'PATCH /v1/nodes/{node_ident}', patch).status_int
        assert status == (200 if persona in allowed else 403), persona


def test_records_stay_out_of_foreign_nodes(ask):
    """A port is neither created on a node of another project, nor moved to it."""
    node = ask('stranger_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    port = {'node_uuid': NODE, 'address': '52:54:00:00:00:02'}
    assert ask('stranger_admin', 'POST /v1/ports', port).status_int == 400
    response = ask('stranger_admin', 'POST /v1/ports', port | {'node_uuid': node})
    assert response.status_int == 201, response.text
    patch = [{'op': 'replace', 'path': '/node_uuid', 'value': NODE}]
    response = ask('stranger_admin', f'PATCH /v1/ports/{response.json["uuid"]}', patch)
    assert (response.status_int, 'could not be found' in response.text) == (400, True)
    assert ask('stranger_admin', f'GET /v1/ports?node={NODE}').status_int == 404
    assert ask('stranger_admin', f'GET /v1/ports?portgroup={RECORD}2').status_int == 404
    assert ask('owner_admin', f'GET /v1/ports?portgroup={RECORD}2').json == {'ports': []}
    body = {'instance_uuid': VIF, 'node_uuid': [NODE]}
    assert ask('stranger_admin', 'POST /v1/reservations', body).json['reasons'][0]['reason'] == 'not found'


#: The paths of the records of NODE.
RECORDS_OF_NODE = [
    f'portgroups/{RECORD}2',
    f'ports/{RECORD}3',
    f'volume/connectors/{RECORD}4',
    f'volume/targets/{RECORD}5',
]


@pytest.mark.parametrize('record', RECORDS_OF_NODE)
def test_records_move_only_between_nodes_of_one_owner(ask, record):
    """As in Ironic. Otherwise a lessee, who may change volume records, could take those of the owner."""
    body = {'driver': 'fake-hardware'}
    owners = {'alpha': 'beta', 'gamma': 'beta', 'beta': None, None: 'beta'}
    nodes = {
        owner: ask('system_admin', 'POST /v1/nodes', body | {'owner': owner, 'lessee': lessee}).json['uuid']
        for owner, lessee in owners.items()
    }
    with ask.app.service.write() as connection:
        connection.execute(sa.update(tables.nodes).values(maintenance=True, power_state=states.POWER_OFF))
    allowed = set()
    for persona in PERSONAS:
        route = f'PATCH /v1/{record}'
        may_change = ask(persona, route, [{'op': 'add', 'path': '/extra/x', 'value': 1}]).status_int
        for owner, node in nodes.items():
            response = ask(persona, route, [{'op': 'replace', 'path': '/node_uuid', 'value': node}])
            expected = may_change if may_change != 200 or owner == 'alpha' else 400
            assert response.status_int == expected, (persona, owner, response.text)
            if response.status_int == 200:
                allowed.add(persona)
                back = ask('system_admin', route, [{'op': 'replace', 'path': '/node_uuid', 'value': NODE}])
                assert back.status_int == 200, back.text
    assert {'system_admin', 'system_member', 'service', 'owner_admin', 'owner_service'} <= allowed
    assert ('lessee_admin' in allowed) == record.startswith('volume/')


def test_a_record_does_not_move_to_a_node_that_is_not_visible(ask):
    """The response is the one for a node that does not exist."""
    target = ask('owner_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    for record in RECORDS_OF_NODE[2:]:
        patches = [[{'op': 'replace', 'path': '/node_uuid', 'value': uuid}] for uuid in (target, VIF)]
        responses = [ask('lessee_admin', f'PATCH /v1/{record}', patch) for patch in patches]
        assert [response.status_int for response in responses] == [400, 400]
        assert len({message(response).replace(VIF, target) for response in responses}) == 1


def test_refusals_do_not_show_foreign_nodes(ask):
    """If an instance has a node or a reservation, the refusal names the node only to callers who see it."""
    other = ask('owner_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    strange = ask('stranger_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    on = ask('owner_admin', 'POST /v1/nodes', {'driver': 'fake-hardware', 'instance_uuid': VIF}).json['uuid']
    refusals = set()
    for who, where, code in (
        (INSTANCE, RESERVED, 'baremetal.instance.reserved'),
        (VIF, on, 'baremetal.instance.on_node'),
    ):
        body = {'instance_uuid': who, 'node_uuid': [other]}
        response = ask('owner_member', 'POST /v1/reservations', body)
        assert (response.status_int, response.json['code'], where in response.text) == (409, code, True)
        response = ask('stranger_admin', 'POST /v1/reservations', body | {'node_uuid': [strange]})
        assert (response.status_int, where in response.text) == (409, False)
        refusals.add((response.json['code'], message(response).replace(who, '')))
    assert refusals == {('baremetal.instance.unavailable', 'No node can be reserved for instance .')}


def test_instance_with_a_foreign_reservation_gets_no_node(ask):
    """An instance with a foreign reservation gets no node, not even one of the caller's own nodes."""
    strange = ask('stranger_admin', 'POST /v1/nodes', {'driver': 'fake-hardware'}).json['uuid']
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': INSTANCE}]
    response = ask('stranger_admin', f'PATCH /v1/nodes/{strange}', patch)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.unavailable')
    assert RESERVED not in response.text


def test_an_instance_whose_foreign_reservation_is_of_a_later_node(ask):
    """Only the reserved node decides what the caller may know."""
    with ask.app.service.write() as connection:
        of_reserved = tables.nodes.c.uuid == RESERVED
        connection.execute(sa.update(tables.nodes).where(of_reserved).values(owner='gamma', lessee=None))
    patch = [{'op': 'add', 'path': '/instance_uuid', 'value': INSTANCE}]
    response = ask('owner_admin', f'PATCH /v1/nodes/{NODE}', patch)
    assert (response.status_int, response.json['code']) == (409, 'baremetal.instance.unavailable')
    assert RESERVED not in response.text


@pytest.fixture
def disown(ask):
    """Function that removes owner and lessee from all nodes."""

    def taken():
        with ask.app.service.write() as connection:
            connection.execute(sa.update(tables.nodes).values(owner=None, lessee=None))

    return taken


def domain_cases():
    """Generate each route with the expected status for a persona without a project."""
    for route, row in MATRIX['routes'].items():
        for status in (status for status in row if isinstance(status, int)):
            if 'domain_admin' in row[status]:
                yield pytest.param(route, row.get('body'), status, id=route)


@pytest.mark.parametrize(('route', 'body', 'status'), list(domain_cases()))
def test_without_a_project_nodes_without_an_owner_are_not_visible(ask, disown, route, body, status):
    """A token without a project does not match a node without an owner."""
    disown()
    response = ask('domain_admin', route, body)
    assert response.status_int == status >= 400, response.text


SEE_ALL = ('system_admin', 'system_member', 'system_reader', 'system_service', 'service')
NODE_ROUTES = [route for route in MATRIX['routes'] if '{node_ident}' in route]


@pytest.mark.parametrize('persona', PERSONAS)
def test_a_missing_node_is_a_404_for_everyone(ask, persona):
    for route in NODE_ROUTES:
        body = MATRIX['routes'][route].get('body')
        response = ask(persona, route.replace('{node_ident}', VIF), body)
        # Who may see all nodes gets Ironic's 400 here. For others, a missing node is like one that they may not see.
        is_known = route == 'GET /v1/nodes/{node_ident}/allocation' and persona in SEE_ALL
        assert response.status_int == (400 if is_known else 404), (route, response.text)


def test_markers_must_be_visible(ask):
    """Otherwise, a foreign node's position in a sorted list would disclose its value of the sort key."""
    port = f'{RECORD}3'
    for path in (
        f'/v1/nodes?marker={NODE}&sort_key=description',
        f'/v1/nodes/detail?marker={NODE}',
        f'/v1/ports?marker={port}&sort_key=address',
        f'/v1/portgroups?marker={RECORD}2',
        f'/v1/volume/connectors?marker={RECORD}4',
        f'/v1/volume/targets?marker={RECORD}5',
        '/v1/reservations?marker={reservation_uuid}',
    ):
        assert ask('owner_reader', f'GET {path}').status_int == 200, path
        assert ask('stranger_reader', f'GET {path}').status_int == 404, path


def test_the_order_of_a_list_does_not_show_hidden_fields(ask):
    """A lessee, who does not see ``last_error``, cannot sort by it."""
    with ask.app.service.write() as connection:
        for uuid, text in ((NODE, 'b'), (RESERVED, 'a')):
            same = tables.nodes.c.uuid == uuid
            connection.execute(sa.update(tables.nodes).where(same).values(last_error=text))

    def order(persona, more=''):
        nodes = ask(persona, f'GET /v1/nodes?sort_key=last_error{more}').json['nodes']
        return [node['uuid'] for node in nodes]

    assert order('owner_reader') == [RESERVED, NODE]
    assert order('lessee_reader') == [NODE, RESERVED]
    assert order('lessee_reader', f'&marker={NODE}') == [RESERVED]
    assert order('lessee_reader', '&sort_dir=desc') == [RESERVED, NODE]


def test_the_filter_by_chassis_does_not_show_which_chassis_exist(ask):
    for path in ('/v1/nodes?chassis_uuid={}', '/v1/chassis/{}/nodes'):
        for persona, statuses in (('stranger_reader', [200, 200]), ('system_reader', [200, 404])):
            responses = [ask(persona, f'GET {path.format(uuid)}') for uuid in (f'{RECORD}1', VIF)]
            assert [response.status_int for response in responses] == statuses


class Forgetful(Resource):
    """A route whose rule depends on the node, without ``of``."""

    @expose('baremetal:node:update')
    def put(self, context, node_ident, /):
        return {'changed': node_ident}


def test_a_route_that_forgets_the_node_is_a_500(ask, monkeypatch):
    monkeypatch.setitem(V1Controller.children, 'forgetful', Forgetful())
    assert ask('system_admin', 'PUT /v1/forgetful/{node_ident}').json == {'changed': NODE}
    assert ask('stranger_admin', 'PUT /v1/forgetful/{node_ident}').status_int == 500
