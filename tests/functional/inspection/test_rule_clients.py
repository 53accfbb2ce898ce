"""Inspection rules through the unmodified command line of python-ironicclient and openstacksdk."""

import json

import openstack
import pytest

ADD = {'op': 'add-trait', 'args': {'name': 'CUSTOM_A'}}
HAS = {'op': 'has', 'args': {'value': '{inventory[cpu][flags]}', 'member': 'avx2'}}


def test_baremetal_inspection_rule(baremetal):
    def rule(*arguments, **options):
        return baremetal('inspection', 'rule', *arguments, **options)

    created = rule('create', '--description', 'AVX2', '--priority', '5', '--actions', json.dumps([ADD]), '-f', 'json')
    uuid = created['uuid']
    assert (created['priority'], created['phase'], created['sensitive']) == (5, 'main', False)
    rule('set', uuid, '--priority', '7', '--conditions', json.dumps([HAS]), '--description', 'new')
    shown = rule('show', uuid, '-f', 'json')
    assert (shown['priority'], shown['conditions'], shown['actions']) == (7, [HAS], [ADD])
    rule('unset', uuid, '--description', '--priority')
    (listed,) = rule('list', '-f', 'json')
    assert {key.lower(): value for key, value in listed.items()} == {'uuid': uuid, 'description': None}
    (listed,) = rule('list', '--long', '-f', 'json')
    assert [ADD] in listed.values()
    refused = rule('create', '--actions', '[{"op": "add-trait", "args": {"name": "gold"}}]', ok=False)
    assert "action 1 (add-trait): 'gold' is not a trait" in refused
    secret = rule('create', '--sensitive', 'true', '--actions', json.dumps([ADD]), '-f', 'json')
    assert (secret['sensitive'], secret['actions']) == (True, None)
    rule('delete', uuid, secret['uuid'])
    assert rule('list', '-f', 'json') == []
    assert f'Rule {uuid} could not be found.' in rule('show', uuid, ok=False)


def test_openstacksdk_inspection_rules(sdk):
    rule = sdk.create_inspection_rule(description='AVX2', conditions=[HAS], actions=[ADD])
    assert (rule.priority, rule.phase, rule.sensitive) == (0, 'main', False)
    assert [each.description for each in sdk.inspection_rules()] == ['AVX2']
    rule = sdk.update_inspection_rule(rule, priority=9)
    rule = sdk.patch_inspection_rule(rule, [{'op': 'add', 'path': '/actions/-', 'value': ADD}])
    rule = sdk.get_inspection_rule(rule.id)
    assert (rule.priority, rule.conditions, rule.actions) == (9, [HAS], [ADD, ADD])
    sdk.delete_inspection_rule(rule.id)
    with pytest.raises(openstack.exceptions.NotFoundException):
        sdk.get_inspection_rule(rule.id)
