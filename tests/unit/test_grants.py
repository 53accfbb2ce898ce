"""A route that forgets a policy check fails, and shows nothing."""

import inspect

import pytest

from ironic_traits.context import Grant
from ironic_traits.inventory.holds import reservations
from ironic_traits.inventory.nodes import nodes
from ironic_traits.inventory.provisioning import node_vifs
from ironic_traits.inventory.records import records
from ironic_traits.inventory.search import matches
from ironic_traits.inventory.traits import node_traits

READERS = [
    *(nodes.get, nodes.find, records.get, records.find, reservations.get, reservations.find),
    *(node_traits.list_all, node_vifs.list_all),
]


@pytest.mark.parametrize('rules', [(), ('baremetal:node:get',)])
def test_a_grant_is_for_one_node_only_after_the_check(rules):
    with pytest.raises(TypeError, match='not for one node'):
        _ = Grant(rules).ident
    assert Grant(rules).of('a').ident == 'a'


def test_a_grant_names_its_rules():
    """A grant has no default: it names its rules."""
    with pytest.raises(TypeError):
        Grant()
    with pytest.raises(TypeError):
        matches.NodeRequest()


@pytest.mark.parametrize('reader', READERS, ids=lambda reader: f'{reader.__module__}.{reader.__name__}')
def test_readers_need_a_grant(reader):
    parameter = list(inspect.signature(reader).parameters.values())[1]
    assert (parameter.name, parameter.default) == ('grant', parameter.empty)
