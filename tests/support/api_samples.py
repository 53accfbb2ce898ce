"""The requests and responses that the API reference shows."""

import json

from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import mirror_clouds, mirrored_nodes
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.provisioning import node_states, workers
from tests.support import inspection_samples
from tests.support import sample_documents as samples
from tests.support.service import finish_work


def _lists(name):
    return f'{name}-list' if name == 'chassis' else f'{name}s-list'


def _sampled_records(client):
    """Generate (name, sample) of records."""
    # Volume resources can change only while their node is off.
    client.ask('PUT', '/v1/nodes/rack1-1/states/power', {'target': 'power off'})
    finish_work(client.app)
    for name, (path, new, changed) in samples.RECORDS.items():
        yield f'{name}-create-request', new
        client.ask('POST', path, new)
        yield _lists(name), client.get(path)
        yield f'{name}-update-request', changed
        yield f'{name}-show', client.ask('PATCH', f'{path}/{new["uuid"]}', changed).json
    yield 'runbook-traits-put-request', samples.TRAITS
    client.ask('PUT', '/v1/runbooks/flash-bios/traits', samples.TRAITS)
    yield 'runbook-traits', client.get('/v1/runbooks/flash-bios/traits')
    yield 'volume-show', client.get('/v1/volume')
    yield 'node-vif-attach-request', samples.VIF
    client.ask('POST', '/v1/nodes/rack1-1/vifs', samples.VIF)
    yield 'node-vifs', client.get('/v1/nodes/rack1-1/vifs')


def _asking(client):
    """Return a function that sends a request to the Placement API, which must succeed."""

    def ask(method, path, document=None):
        response = client.placement(method, path, document)
        assert response.status_int < 300, response.text
        return response.json if response.body else None

    return ask


def _sampled_placement(client):
    """Generate (name, sample) of the Placement API. The node has a reservation."""
    ask = _asking(client)
    node, provider = (f'/resource_providers/{each["uuid"]}' for each in (samples.NODE, samples.PROVIDER))
    yield 'placement', ask('GET', '')
    yield 'provider-traits-put-request', samples.PROVIDER_TRAITS
    yield 'provider-traits', ask('PUT', f'{node}/traits', samples.PROVIDER_TRAITS)
    yield 'traits-list', ask('GET', '/traits?associated=true')
    yield 'aggregates-put-request', samples.AGGREGATES
    yield 'aggregates-list', ask('PUT', f'{node}/aggregates', samples.AGGREGATES)
    yield 'usages', ask('GET', f'{node}/usages')
    yield 'inventories-list', ask('GET', f'{node}/inventories')
    yield 'resource-provider-create-request', samples.PROVIDER
    ask('POST', '/resource_providers', samples.PROVIDER)
    yield 'inventory-create-request', samples.NEW_INVENTORY
    ask('POST', f'{provider}/inventories', samples.NEW_INVENTORY)
    yield 'inventory-put-request', samples.INVENTORY
    yield 'inventory-show', ask('PUT', f'{provider}/inventories/DISK_GB', samples.INVENTORY)
    yield 'resource-class-create-request', samples.RESOURCE_CLASS
    ask('POST', '/resource_classes', samples.RESOURCE_CLASS)
    yield 'resource-class-show', ask('GET', f'/resource_classes/{samples.RESOURCE_CLASS["name"]}')
    classes = ask('GET', '/resource_classes')['resource_classes']
    # Show only some classes, because each release of os-resource-classes adds some.
    shown = [each for each in classes if each['name'] == 'DISK_GB' or each['name'].startswith('CUSTOM_')]
    yield 'resource-classes-list', {'resource_classes': shown}
    yield 'inventories-put-request', samples.INVENTORIES
    ask('PUT', f'{provider}/inventories', samples.INVENTORIES)
    yield 'resource-provider-update-request', samples.PROVIDER_CHANGE
    yield 'resource-provider-show', ask('PUT', provider, samples.PROVIDER_CHANGE)
    yield 'resource-providers-list', ask('GET', '/resource_providers?required=HW_CPU_X86_VMX,!STORAGE_DISK_SSD')
    yield 'placement-failure', client.placement('PUT', f'{node}/traits', samples.PROVIDER_TRAITS).json


def _sampled_allocations(client):
    """Generate (name, sample) of allocations. The node is reserved for the consumer."""
    ask = _asking(client)
    yield 'allocations-put-request', samples.ALLOCATIONS
    ask('PUT', f'/allocations/{samples.INSTANCE}', samples.ALLOCATIONS)
    yield 'allocations-show', ask('GET', f'/allocations/{samples.INSTANCE}')
    yield 'provider-allocations', ask('GET', f'/resource_providers/{samples.NODE["uuid"]}/allocations')
    ask('PUT', f'/allocations/{samples.MOVED}', samples.STORAGE)
    yield 'allocations-post-request', samples.SEVERAL_ALLOCATIONS
    ask('POST', '/allocations', samples.SEVERAL_ALLOCATIONS)
    yield 'project-usages', ask('GET', f'/usages?project_id={samples.OWNER["project_id"]}&consumer_type=INSTANCE')
    ask('POST', '/resource_providers', samples.POOL)
    yield 'reshaper-request', samples.RESHAPE
    ask('POST', '/reshaper', samples.RESHAPE)


def _sampled_catalogue(client):
    """Generate (name, sample) of the catalogue of traits."""
    yield 'catalogue-put-request', samples.CATALOGUE
    yield 'catalogue-show', client.ask('PUT', '/v1/traits/CUSTOM_GOLD', samples.CATALOGUE).json
    yield 'catalogue-list', client.get('/v1/traits?custom=true')
    body = {'exclusive': True, 'flavors': samples.DRIFT['flavors']}
    yield 'catalogue-preview', client.ask('PATCH', '/v1/traits/HW_CPU_X86_VMX?preview=true', body).json
    client.ask('PUT', '/v1/traits/CUSTOM_GOLD', {'retired': False})


def _sampled_matches(client):
    """Generate (name, sample) of matches."""
    yield 'match-request', samples.MATCH
    yield 'matches', client.ask('POST', '/v1/matches', samples.MATCH).json
    yield 'match-topology-request', samples.TOGETHER
    yield 'matches-topology', client.ask('POST', '/v1/matches', samples.TOGETHER).json
    yield 'capacity-request', samples.CAPACITY
    yield 'capacity', client.ask('POST', '/v1/capacity', samples.CAPACITY).json
    yield 'drift-firmware', _sampled_firmware(client)
    yield 'drift-request', samples.DRIFT
    yield 'drift', client.ask('POST', '/v1/drift', samples.DRIFT).json
    yield 'explanation-request', samples.QUERY
    yield 'explanation', client.ask('POST', '/v1/explanations', samples.QUERY).json
    yield 'reservation-by-request-request', samples.BY_REQUEST
    yield 'reservation-no-match', client.ask('POST', '/v1/reservations', samples.BY_REQUEST).json
    yield 'reservation-topology-request', samples.IN_ONE_RACK
    yield 'reservation-topology-refused', client.ask('POST', '/v1/reservations', samples.IN_ONE_RACK).json


def _sampled_capacity_reservations(client):
    """Generate (name, sample) of capacity reservations, with a fixed uuid."""
    path = '/v1/capacity_reservations'
    yield 'capacity-reservation-create-request', samples.CAPACITY_RESERVATION
    created = client.ask('POST', path, samples.CAPACITY_RESERVATION).json
    shown = created | {'uuid': f'{samples.RECORD}a'}
    yield 'capacity-reservation-show', shown
    yield 'capacity-reservations-list', {'capacity_reservations': [shown]}
    more = samples.CAPACITY_RESERVATION | {'name': 'summer'}
    yield 'capacity-reservation-insufficient', client.ask('POST', path, more).json
    yield 'reservation-for-capacity-request', samples.FOR_CAPACITY
    others = {name: value for name, value in samples.FOR_CAPACITY.items() if name != 'capacity_reservation'}
    yield 'reservation-promised', client.ask('POST', '/v1/reservations', others).json
    client.ask('DELETE', f'{path}/{created["uuid"]}')


def _sampled_node_allocations(client):
    """Generate (name, sample) of Ironic's allocations."""
    client.node(
        uuid=f'{samples.RECORD[:-1]}10', name='rack1-5', driver='fake-hardware', resource_class='baremetal.gold'
    )
    client.ask('PUT', '/v1/nodes/rack1-5/traits', samples.TRAITS)
    for target in ('manage', 'provide'):
        client.ask('PUT', '/v1/nodes/rack1-5/states/provision', {'target': target})
        finish_work(client.app)
    yield 'node-allocation-create-request', samples.ALLOCATION
    uuid = f'{samples.RECORD[:-1]}11'
    yield 'node-allocation-show', client.ask('POST', '/v1/allocations', samples.ALLOCATION | {'uuid': uuid}).json
    refused = samples.ALLOCATION | {'uuid': f'{samples.RECORD[:-1]}12', 'name': 'db1'}
    yield 'node-allocation-error', client.ask('POST', '/v1/allocations', refused).json
    yield 'node-allocations-list', client.get('/v1/allocations?fields=uuid,name,state,node_uuid')
    yield 'node-allocation-update-request', samples.ALLOCATION_PATCH


def _sampled_sources(client):
    """Return the traits of a node with two sources and a veto."""
    client.node(name='rack1-2', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-2/traits', samples.TRAITS)
    client.ask('PUT', '/v1/nodes/rack1-2/traits?source=terraform', {'traits': ['CUSTOM_GOLD', 'CUSTOM_RACK_1']})
    client.ask('DELETE', '/v1/nodes/rack1-2/traits/CUSTOM_RACK_1')
    return client.get('/v1/nodes/rack1-2/traits?detail=true')


def _sampled_changes(client, token):
    """Return the sample of changes. It has a fixed token and fixed times, because the real ones differ in each run."""
    page = client.get(f'/v1/changes?since={token}')
    for each in page['changes']:
        each['changed_at'] = '2026-11-22T09:30:00+00:00'
    return page | {'token': f'5d1e0c4b8f7a4e239d6c1b0a2f8e7d35-{len(page["changes"])}'}


def _sampled_history(client):
    """Generate (name, sample) of the history of a node. Its random uuids are replaced with fixed ones."""
    uuid = f'{samples.RECORD}f'
    client.node(uuid=uuid, name='rack1-4', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-4/traits', samples.TRAITS)
    client.ask('PUT', '/v1/nodes/rack1-4/maintenance', {'reason': 'disk 2 is broken'})
    history = client.get('/v1/nodes/rack1-4/history?detail=true&limit=2')
    text = json.dumps([history, client.get('/v1/nodes/rack1-4/history'), client.get('/v1/history?node=rack1-4')])
    entries = client.get('/v1/nodes/rack1-4/history')['history']
    for number, entry in zip('cde', entries, strict=True):
        text = text.replace(entry['uuid'], f'{samples.RECORD}{number}')
    detailed, short, ours = json.loads(text)
    yield 'node-history-detail', detailed
    yield 'node-history', short
    yield 'node-history-entry', detailed['history'][1]
    yield 'history', ours


def _sampled_edits(client):
    """Generate (name, sample) of an edit of traits."""
    # A uuid that is always the same, because the digest depends on it.
    client.node(uuid=f'{samples.RECORD}b', name='rack1-3', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-3/traits', samples.TRAITS)
    yield 'trait-edit-preview-request', samples.EDIT | {'preview': True}
    preview = client.ask('POST', '/v1/traits/edits', samples.EDIT | {'preview': True}).json
    yield 'trait-edit-preview', preview
    yield 'trait-edit-request', samples.EDIT | {'digest': preview['digest']}
    yield 'trait-edit', client.ask('POST', '/v1/traits/edits', samples.EDIT | {'digest': preview['digest']}).json
    client.ask('DELETE', '/v1/nodes/rack1-3')


def _sampled_actions(client):
    """Generate (name, sample) of an action on two nodes, of which only one is manageable."""
    for number, state in ((7, 'manageable'), (8, 'enroll')):
        node = client.node(uuid=f'{samples.RECORD}{number}', name=f'rack1-{number}', driver='fake-hardware')
        node_states.place(client.app.service, node['uuid'], state)
    yield 'node-actions-preview-request', samples.ACTION | {'preview': True}
    preview = client.ask('POST', '/v1/nodes/actions', samples.ACTION | {'preview': True}).json
    yield 'node-actions-preview', preview
    yield 'node-actions-request', samples.ACTION | {'digest': preview['digest']}
    yield 'node-actions', client.ask('POST', '/v1/nodes/actions', samples.ACTION | {'digest': preview['digest']}).json
    finish_work(client.app)
    for name in samples.ACTION['nodes']:
        client.ask('DELETE', f'/v1/nodes/{name}')


def _sampled_rules(client):
    """Generate (name, sample) of a run of inspection rules, with fixed digests: the real ones depend on times."""
    client.node(uuid=f'{samples.RECORD}b', name='rack1-3', driver='fake-hardware', resource_class='baremetal.gold')
    client.ask('PUT', '/v1/nodes/rack1-3/inventory', {'inventory': samples.FOUND})
    path, digest = '/v1/inspection_rules', 64 * '9'
    yield 'inspection-rules-preview-request', samples.RULES_PREVIEW
    draft = client.ask('POST', f'{path}/preview', samples.RULES_PREVIEW).json
    yield 'inspection-rules-preview', draft | {'digest': digest}
    body = {'where': samples.RULES_PREVIEW['where']}
    yield 'inspection-rules-apply-request', body | {'digest': digest}
    in_force = client.ask('POST', f'{path}/preview', body).json
    yield 'inspection-rules-apply', client.ask('POST', f'{path}/apply', body | {'digest': in_force['digest']}).json
    client.ask('DELETE', '/v1/nodes/rack1-3')


def _sampled_firmware(client):
    """Return the firmware of a node."""
    client.node(name='rack1-5', driver='fake-hardware')
    client.ask('PUT', '/v1/nodes/rack1-5/inventory', samples.FIRMWARE)
    firmware = client.get('/v1/drift')
    client.ask('DELETE', '/v1/nodes/rack1-5')
    return firmware


def _sampled_children(client):
    """Return the children of a node."""
    child = {'uuid': f'{samples.RECORD}e', 'name': 'rack1-1-dpu', 'driver': 'fake-hardware', 'parent_node': 'rack1-1'}
    client.node(**child)
    children = client.get('/v1/nodes/rack1-1/children')
    client.ask('DELETE', '/v1/nodes/rack1-1-dpu')
    return children


def _sampled_mirrors(client):
    """Return the mirrors of clouds."""
    service, turn = client.app.service, Turn('berlin', 'a', 60)
    mirror_clouds.take(service, turn, 'mirror1 4711')
    moment = mirror_clouds.now(service)
    reached = {'endpoint': 'https://ironic.example.com/v1/', 'version': '1.109', 'requests': 12, 'write_queue': 0}
    mirror_clouds.save(service, turn, **reached, passed_at=moment, current_at=moment)
    reason = 'This service has a node named rack1-1: the mirrored node has no name.'
    mirrored_nodes.report(Context(service, None, 0, ''), turn, 'nodes', {f'{samples.RECORD}f': reason})
    lag = {'lag_seconds': 1.5}
    yield 'mirrors-list', {'mirrors': [each | lag for each in client.get('/v1/mirrors')['mirrors']]}
    yield 'mirror-show', client.get('/v1/mirrors/berlin') | lag


def sampled(client):
    """Generate (name, sample)."""
    facts = {'hostname': 'conductor1', 'pid': 1, 'conductor_group': '', 'drivers': ['fake-hardware']}
    workers.beat(client.app.service, f'{samples.RECORD}d', **facts)
    yield 'conductors-list', client.get('/v1/conductors')
    yield 'conductor-show', client.get('/v1/conductors/conductor1')
    yield from _sampled_mirrors(client)
    yield 'root', client.get('/')
    yield 'v1', client.get('/v1')
    token = client.get('/v1/changes')['token']
    yield 'node-create-request', samples.NODE
    client.node(**samples.NODE)
    yield 'node-traits-put-request', samples.TRAITS
    yield 'node-traits', client.ask('PUT', '/v1/nodes/rack1-1/traits', samples.TRAITS).json
    yield 'changes', _sampled_changes(client, token)
    yield 'nodes-list', client.get('/v1/nodes?fields=name,traits&traits=CUSTOM_GOLD')
    yield 'facets', client.get('/v1/facets?by=provision_state,traits')
    yield from _sampled_edits(client)
    yield from _sampled_actions(client)
    yield from _sampled_rules(client)
    yield 'node-update-request', samples.PATCH
    client.ask('PATCH', '/v1/nodes/rack1-1', samples.PATCH)
    yield 'node-show', client.get('/v1/nodes/rack1-1')
    yield 'node-children', _sampled_children(client)
    path = '/v1/nodes/rack1-1/management/boot_device'
    yield 'boot-device-put-request', samples.BOOT_DEVICE
    client.ask('PUT', path, samples.BOOT_DEVICE)
    yield 'boot-device', client.get(path)
    yield 'boot-devices-supported', client.get(f'{path}/supported')
    yield from _sampled_management(client)
    yield from inspection_samples.sampled(client)
    yield from _sampled_records(client)
    yield 'node-provision-request', samples.PROVISION
    for target in ('manage', 'provide'):
        client.ask('PUT', '/v1/nodes/rack1-1/states/provision', {'target': target})
        finish_work(client.app)
    missing = [{'op': 'add', 'path': '/instance_info/traits', 'value': ['CUSTOM_GOLD', 'CUSTOM_SILVER']}]
    client.ask('PATCH', '/v1/nodes/rack1-1', missing)
    yield 'node-validate', client.get('/v1/nodes/rack1-1/validate')
    client.ask('PATCH', '/v1/nodes/rack1-1', [{'op': 'remove', 'path': '/instance_info/traits'}])
    missing = 'resources=CUSTOM_BAREMETAL_SILVER:1&required=CUSTOM_GOLD&limit=10'
    yield 'allocation-candidates', _asking(client)('GET', f'/allocation_candidates?{missing}')
    yield from _sampled_catalogue(client)
    yield from _sampled_matches(client)
    yield from _sampled_capacity_reservations(client)
    yield 'reservation-create-request', samples.RESERVATION
    held = client.ask('POST', '/v1/reservations', samples.RESERVATION).json
    held['reservation']['uuid'] = f'{samples.RECORD}9'
    yield 'reservation', held
    yield 'reservations-list', {'reservations': [held['reservation']]}
    yield from _sampled_placement(client)
    yield from _sampled_allocations(client)
    other = samples.RESERVATION | {'instance_uuid': 'a8b2c1c0-0000-4000-8000-000000000002'}
    yield 'reservation-refused', client.ask('POST', '/v1/reservations', other).json
    yield 'match-instance-request', samples.REBUILD
    yield 'match-instance', client.ask('POST', '/v1/matches', samples.REBUILD).json
    client.ask('PUT', '/v1/nodes/rack1-1/states/provision', samples.PROVISION)
    yield 'node-states', client.get('/v1/nodes/rack1-1/states')
    yield 'drivers-list', client.get('/v1/drivers')
    yield 'driver-show', client.get('/v1/drivers/fake-hardware')
    yield 'node-traits-detail', _sampled_sources(client)
    yield from _sampled_history(client)
    yield from _sampled_node_allocations(client)
    yield 'failure', client.ask('PUT', '/v1/nodes/rack1-1/traits/HW_CPU_X86_VMXX').json


def _sampled_management(client):
    path = '/v1/nodes/rack1-1/management/indicators'
    yield 'indicators-list', client.get(path)
    yield 'indicator-put-request', samples.INDICATOR
    client.ask('PUT', f'{path}/led@system', samples.INDICATOR)
    yield 'indicator-show', client.get(f'{path}/led@system')
    yield 'vmedia-attach-request', samples.MEDIUM
    client.ask('POST', '/v1/nodes/rack1-1/vmedia', samples.MEDIUM)
    yield 'vmedia-list', client.get('/v1/nodes/rack1-1/vmedia')
    client.ask('DELETE', '/v1/nodes/rack1-1/vmedia')
