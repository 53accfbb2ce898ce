"""Names of traits."""

import os_traits
import pytest

from ironic_traits.matching import traits

TRAITS = ['CUSTOM_A', 'CUSTOM_0_', 'HW_CPU_X86_VMX', 'CUSTOM_' + 'A' * 248, *os_traits.get_traits()]


@pytest.mark.parametrize('name', TRAITS)
def test_traits(name):
    assert traits.is_trait(name)
    assert traits.is_well_formed(name)


INVALID = [
    *('', 'CUSTOM_', 'CUSTOM_a', 'CUSTOM_A-B', 'CUSTOM_A\n', '\nCUSTOM_A', 'CUSTOM_A ', 'CUSTOM_É', 'CUSTOM_４'),
    *('HW_CPU', 'custom_a', 'XCUSTOM_A', 'CUSTOM_' + 'A' * 249, 'CUSTOM_A,CUSTOM_B'),
]


@pytest.mark.parametrize('name', INVALID)
def test_invalid_traits(name):
    assert not traits.is_trait(name)


@pytest.mark.parametrize(('name', 'suggestion'), [
    ('HW_CPU_X86_VMXX', 'HW_CPU_X86_VMX'),
    ('hw_cpu_x86_vmx', 'HW_CPU_X86_VMX'),
    ('custom_a', 'CUSTOM_A'),
    (' Custom-a.b ', 'CUSTOM_A_B'),
    ('HW-CPU-X86-AVX2', 'HW_CPU_X86_AVX2'),
    ('GOLD', None),
    ('', None),
    ('A' * 100_000, None),
])  # fmt: skip
def test_nearest(name, suggestion):
    assert traits.nearest(name) == suggestion


def test_filter():
    """The four filters of the specification work: all of, any of, not all of, none of."""
    trait_filter = traits.Filter.of(
        traits=[{'A'}, {'B'}], traits_any=[{'C', 'D'}], not_traits=[{'E', 'F'}], not_traits_any=[{'G'}, {'H'}]
    )
    assert trait_filter.matches({'A', 'B', 'C'})
    assert trait_filter.matches({'A', 'B', 'D', 'E'})
    assert not trait_filter.matches({'A', 'C'})
    assert not trait_filter.matches({'A', 'B'})
    assert not trait_filter.matches({'A', 'B', 'C', 'E', 'F'})
    assert not trait_filter.matches({'A', 'B', 'C', 'H'})
    assert traits.Filter.of().matches(set())
