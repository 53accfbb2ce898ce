"""The deploy-validate hooks: loading them, and combining their results."""

import pytest
import stevedore
from oslo_config import cfg

from ironic_traits.deploy import instance_traits, validate

NODE = {
    'uuid': '5c2d0a5e-2f0c-4b7b-9a6b-27d3b7d0a001',
    'driver': 'fake-hardware',
    'instance_info': {'traits': ['CUSTOM_A']},
    'traits': [],
    **{f'{interface}_interface': 'fake' for interface in validate.INTERFACES},
}


class Refusing(validate.Hook):
    """A hook that refuses all nodes.

    :param message: reason.
    :param interface: the interface that it validates.
    """

    def __init__(self, message, interface='deploy'):
        self.message = message
        self.interface = interface

    def check(self, node):
        raise validate.Refused(self.message)


def install(monkeypatch, *hooks):
    """Replace the installed hooks."""
    extensions = [stevedore.extension.Extension(f'hook-{i}', None, None, hook) for i, hook in enumerate(hooks)]
    manager = stevedore.ExtensionManager.make_test_instance(extensions, namespace=validate.NAMESPACE)
    monkeypatch.setattr(stevedore, 'ExtensionManager', lambda *args, **options: manager)


def test_hooks_of_this_package():
    assert [type(hook) for hook in validate.load()] == [instance_traits.InstanceTraits]


def test_reasons_of_all_hooks(monkeypatch):
    install(monkeypatch, Refusing('No image.'), Refusing('No fans.', 'power'), Refusing('No disk.'))
    reasons = validate.reasons(validate.load(), NODE)
    assert {interface: reason for interface, reason in reasons.items() if reason} == {
        'deploy': 'No image. No disk.',
        'power': 'No fans.',
    }


def test_a_hook_of_an_unknown_interface(monkeypatch):
    """A hook of an unknown interface is refused, because its result would not be used."""
    install(monkeypatch, Refusing('No.', 'kitchen'))
    with pytest.raises(cfg.Error, match='hook-0 validates "kitchen"'):
        validate.load()


@pytest.mark.parametrize('required', [[], ['CUSTOM_A', 'HW_CPU_X86_VMX', 'CUSTOM_A']])
def test_instance_traits_of_the_node(required):
    node = NODE | {'instance_info': {'traits': required}, 'traits': ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX']}
    assert instance_traits.InstanceTraits().check(node) is None


@pytest.mark.parametrize(
    'required', ['CUSTOM_A', None, 5, {'CUSTOM_A': 'required'}, [None], [['CUSTOM_A']], ['custom']]
)
def test_invalid_instance_traits(required):
    node = NODE | {'instance_info': {'traits': required}, 'traits': ['CUSTOM_A']}
    with pytest.raises(validate.Refused, match='A list of strings is expected'):
        instance_traits.InstanceTraits().check(node)
