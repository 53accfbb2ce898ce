"""The deploy-validate hooks: what is installed, and what several of them say."""

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


class Says(validate.Hook):
    """Refuses everything, in some words.

    :param interface: that it speaks for.
    """

    def __init__(self, words, interface='deploy'):
        self.words = words
        self.interface = interface

    def check(self, node):
        raise validate.Refused(self.words)


def installed(monkeypatch, *hooks):
    """Let these hooks be the installed ones."""
    extensions = [stevedore.extension.Extension(f'hook-{i}', None, None, hook) for i, hook in enumerate(hooks)]
    made = stevedore.ExtensionManager.make_test_instance(extensions, namespace=validate.NAMESPACE)
    monkeypatch.setattr(stevedore, 'ExtensionManager', lambda *args, **options: made)


def test_the_hook_that_is_always_there():
    assert [type(hook) for hook in validate.load()] == [instance_traits.InstanceTraits]


def test_every_hook_is_heard(monkeypatch):
    installed(monkeypatch, Says('No image.'), Says('No fans.', 'power'), Says('No disk.'))
    reasons = validate.reasons(validate.load(), NODE)
    assert {interface: reason for interface, reason in reasons.items() if reason} == {
        'deploy': 'No image. No disk.',
        'power': 'No fans.',
    }


def test_a_hook_that_speaks_for_nothing(monkeypatch):
    """It would be asked, and never heard."""
    installed(monkeypatch, Says('No.', 'kitchen'))
    with pytest.raises(cfg.Error, match='hook-0 speaks for "kitchen"'):
        validate.load()


@pytest.mark.parametrize('wanted', [[], ['CUSTOM_A', 'HW_CPU_X86_VMX', 'CUSTOM_A']])
def test_instance_traits_that_are_there(wanted):
    node = NODE | {'instance_info': {'traits': wanted}, 'traits': ['CUSTOM_A', 'CUSTOM_B', 'HW_CPU_X86_VMX']}
    assert instance_traits.InstanceTraits().check(node) is None


@pytest.mark.parametrize('wanted', ['CUSTOM_A', None, 5, {'CUSTOM_A': 'required'}, [None], [['CUSTOM_A']], ['custom']])
def test_instance_traits_that_are_none(wanted):
    node = NODE | {'instance_info': {'traits': wanted}, 'traits': ['CUSTOM_A']}
    with pytest.raises(validate.Refused, match='A list of strings is expected'):
        instance_traits.InstanceTraits().check(node)
