"""Requests that combine a flavor, an image and requirements of a client."""

import urllib.parse

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.matching.requests import understand


def flavor(**specs):
    """Return a flavor; double underscores in names stand for colons."""
    return {'extra_specs': {key.replace('__', ':'): value for key, value in specs.items()}}


def image(*required, **properties):
    """Return an image that requires traits, with more properties."""
    return {'properties': {**{f'trait:{name}': 'required' for name in required}, **properties}}


#: {case: (flavor, image, (resource class, required, forbidden), query that nova sends to Placement)}.  The query has no
#: limit and no root_required.
TABLE = {
    'the image-traits specification: the union of both': (
        flavor(trait__HW_CPU_X86_AVX2='required', resources__CUSTOM_GOLD='1'),
        image('HW_CPU_X86_SSE'),
        ('CUSTOM_GOLD', ['HW_CPU_X86_AVX2', 'HW_CPU_X86_SSE'], []),
        'required=HW_CPU_X86_AVX2%2CHW_CPU_X86_SSE&resources=CUSTOM_GOLD%3A1',
    ),
    'the same in both is one': (
        flavor(trait__HW_CPU_X86_AVX2='required', resources__CUSTOM_GOLD='1'),
        image('HW_CPU_X86_AVX2'),
        ('CUSTOM_GOLD', ['HW_CPU_X86_AVX2'], []),
        'required=HW_CPU_X86_AVX2&resources=CUSTOM_GOLD%3A1',
    ),
    'an image alone': (None, image('CUSTOM_A'), (None, ['CUSTOM_A'], []), 'required=CUSTOM_A'),
    'the forbidden-traits specification: a disk that is an SSD, and no golden RAID': (
        flavor(trait__STORAGE_DISK_SSD='required', trait__CUSTOM_GOLDEN_RAID='forbidden', resources__CUSTOM_GOLD='1'),
        None,
        ('CUSTOM_GOLD', ['STORAGE_DISK_SSD'], ['CUSTOM_GOLDEN_RAID']),
        'required=STORAGE_DISK_SSD%2C%21CUSTOM_GOLDEN_RAID&resources=CUSTOM_GOLD%3A1',
    ),
    'a recorded query of nova': (
        flavor(
            trait__CUSTOM_A='required',
            trait__CUSTOM_B='forbidden',
            resources__CUSTOM_RC='1',
            resources__VCPU='0',
            resources__MEMORY_MB='0',
            resources__DISK_GB='0',
        ),
        image('CUSTOM_C'),
        ('CUSTOM_RC', ['CUSTOM_A', 'CUSTOM_C'], ['CUSTOM_B']),
        'required=CUSTOM_A%2CCUSTOM_C%2C%21CUSTOM_B&resources=CUSTOM_RC%3A1',
    ),
    'a numbered group in a recorded query of nova': (
        flavor(trait1__CUSTOM_A='required', trait1__CUSTOM_B='forbidden', resources1__CUSTOM_RC='1'),
        None,
        ('CUSTOM_RC', ['CUSTOM_A'], ['CUSTOM_B']),
        'required1=CUSTOM_A%2C%21CUSTOM_B&resources1=CUSTOM_RC%3A1',
    ),
    'groups are one set for a node': (
        flavor(
            trait__CUSTOM_A='required',
            trait_net__CUSTOM_B='required',
            trait2__CUSTOM_C='forbidden',
            resources__CUSTOM_RC='1',
            group_policy='none',
        ),
        image('CUSTOM_D'),
        ('CUSTOM_RC', ['CUSTOM_A', 'CUSTOM_B', 'CUSTOM_D'], ['CUSTOM_C']),
        'group_policy=none&required=CUSTOM_A%2CCUSTOM_D&required2=%21CUSTOM_C&required_net=CUSTOM_B'
        '&resources=CUSTOM_RC%3A1',
    ),
    'keys of other things': (
        flavor(hw__cpu_policy='dedicated', capabilities__boot_mode='uefi', trait='required'),
        image(hw_disk_bus='scsi', os_distro='debian'),
        (None, [], []),
        '',
    ),
    'nothing': (None, None, (None, [], []), ''),
    'an empty flavor and image': ({'extra_specs': {}}, {'properties': None}, (None, [], []), ''),
    'fields that are ignored': ({'id': 5, 'name': 'x'}, {'id': 'y', 'properties': {}}, (None, [], []), ''),
}


@pytest.mark.parametrize(('flavor', 'image', 'expected', 'query'), TABLE.values(), ids=TABLE)
def test_table(flavor, image, expected, query):
    request = understand(flavor=flavor, image=image)
    assert (request.resource_class, sorted(request.required), sorted(request.forbidden)) == expected
    assert request.instance_traits == expected[1]
    assert request.placement_query() == query


def test_requirements_of_a_client():
    request = understand(
        flavor=flavor(trait__CUSTOM_A='required', resources__CUSTOM_GOLD=1),
        required=['CUSTOM_B', 'CUSTOM_A', 'CUSTOM_B'],
        required_any=[['CUSTOM_C', 'CUSTOM_D'], ['CUSTOM_E'], ['CUSTOM_D', 'CUSTOM_C']],
        forbidden=['CUSTOM_F'],
        preferred=['CUSTOM_G', {'trait': 'CUSTOM_H', 'weight': -2}, {'trait': 'CUSTOM_A'}],
        resource_class='gold',
    )
    assert request.required == {'CUSTOM_A', 'CUSTOM_B', 'CUSTOM_E'}
    assert request.required_any == (frozenset(['CUSTOM_C', 'CUSTOM_D']),)
    assert request.preferred == {'CUSTOM_G': 1, 'CUSTOM_H': -2, 'CUSTOM_A': 1}
    assert urllib.parse.parse_qsl(request.placement_query()) == [
        ('required', 'CUSTOM_A,CUSTOM_B,CUSTOM_E,!CUSTOM_F'),
        ('required', 'in:CUSTOM_C,CUSTOM_D'),
        ('resources', 'CUSTOM_GOLD:1'),
    ]


@pytest.mark.parametrize(
    ('text', 'name'),
    [
        ('gold', 'CUSTOM_GOLD'),
        ('baremetal.gold-1', 'CUSTOM_BAREMETAL_GOLD_1'),
        ('CUSTOM_GOLD', 'CUSTOM_GOLD'),
        # A node's class with this name is normalised to the same one.
        ('CUSTOM_gold', 'CUSTOM_CUSTOM_GOLD'),
    ],
)
def test_resource_class(text, name):
    assert understand(resource_class=text).resource_class == name


IGNORED = [
    (image(**{'trait:CUSTOM_A': 'forbidden'}), "image property 'trait:CUSTOM_A' is 'forbidden', and ignored"),
    (image(**{'trait:nonsense': ''}), "image property 'trait:nonsense' is '', and ignored"),
    (image(**{'trait:CUSTOM_A': None}), "image property 'trait:CUSTOM_A' is None, and ignored"),
    (image(**{'trait1:CUSTOM_A': 'required'}), "image property 'trait1:CUSTOM_A' is ignored"),
]


@pytest.mark.parametrize(('image', 'warning'), IGNORED)
def test_ignored_image_properties(image, warning):
    request = understand(image=image)
    assert not request.required
    assert len(request.warnings) == 1
    assert request.warnings[0].startswith(warning)


@pytest.mark.parametrize(
    ('flavor', 'image', 'warning'),
    [
        (flavor(trait_net__CUSTOM_A='required', resources__CUSTOM_GOLD='1'), None, 'CUSTOM_A of group "_net"'),
        (flavor(resources1__CUSTOM_GOLD='1'), image('CUSTOM_A'), 'CUSTOM_A of the group without a suffix'),
    ],
)
def test_requests_that_placement_would_refuse(flavor, image, warning):
    [message] = understand(flavor=flavor, image=image).warnings
    assert message.startswith(f'{warning} cannot be requested from Placement')


CUSTOM = 'CUSTOM_' + 'A' * 248
#: {case: (arguments, part of the message)}.
INVALID = {
    'a trait of a flavor': ({'flavor': flavor(trait__FOO='required')}, "flavor extra_specs 'trait:FOO': 'FOO' is not"),
    'a forbidden one': ({'flavor': flavor(trait1__FOO='forbidden')}, "flavor extra_specs 'trait1:FOO': 'FOO' is not"),
    'no trait': ({'flavor': {'extra_specs': {'trait:': 'required'}}}, "flavor extra_specs 'trait:': '' is not"),
    'too long': ({'flavor': flavor(**{f'trait__{CUSTOM}A': 'required'})}, 'is not a trait'),
    'a line end': ({'flavor': flavor(**{'trait__CUSTOM_A\n': 'required'})}, 'is not a trait'),
    'a value': (
        {'flavor': flavor(trait__CUSTOM_A='preferred')},
        "flavor extra_specs 'trait:CUSTOM_A' is 'preferred': it may be 'required' or 'forbidden'",
    ),
    'a value of another type': ({'flavor': flavor(trait__CUSTOM_A=['required'])}, "is ['required']: it may be"),
    'a long suffix': ({'flavor': flavor(**{f'trait{"x" * 65}__CUSTOM_A': 'required'})}, '64 characters'),
    'a policy': ({'flavor': flavor(group_policy='x')}, "flavor extra_specs 'group_policy' is 'x'"),
    'a class': (
        {'flavor': flavor(resources__GOLD='1')},
        "flavor extra_specs 'resources:GOLD': 'GOLD' is not a resource",
    ),
    'two units': ({'flavor': flavor(resources__CUSTOM_GOLD='2')}, "flavor extra_specs 'resources:CUSTOM_GOLD' is '2'"),
    'a class that no node has': ({'flavor': flavor(resources__VCPU='1')}, "flavor extra_specs 'resources:VCPU' is '1'"),
    'a negative amount': ({'flavor': flavor(resources__VCPU='-1')}, 'an integer of 0 or more'),
    'half a unit': ({'flavor': flavor(resources__CUSTOM_GOLD=0.5)}, 'an integer of 0 or more'),
    'a boolean': ({'flavor': flavor(resources__CUSTOM_GOLD=True)}, 'an integer of 0 or more'),
    'digits that are not ASCII': ({'flavor': flavor(resources__CUSTOM_GOLD='１')}, 'an integer of 0 or more'),
    'two classes': (
        {'flavor': flavor(resources__CUSTOM_A='1', resources1__CUSTOM_B='1')},
        "flavor extra_specs 'resources:CUSTOM_A' asks for CUSTOM_A, flavor extra_specs 'resources1:CUSTOM_B' for",
    ),
    'one class twice': ({'flavor': flavor(resources__CUSTOM_A='1', resources1__CUSTOM_A='1')}, 'one unit of one'),
    'another class': (
        {'flavor': flavor(resources__CUSTOM_A='1'), 'resource_class': 'b'},
        "asks for CUSTOM_A, 'resource_class' for CUSTOM_B",
    ),
    'a trait of an image': ({'image': image('FOO')}, "image property 'trait:FOO': 'FOO' is not a trait"),
    'nearly a trait': ({'required': ['HW_CPU_X86_VMXX']}, "Did you mean 'HW_CPU_X86_VMX'?"),
    'no trait in a list': ({'required': [1]}, "'required': 1 is not a string"),
    'no list': ({'forbidden': 'CUSTOM_A'}, "'forbidden' must be a list"),
    'no list of lists': ({'required_any': ['CUSTOM_A']}, "each member of 'required_any' must be a list"),
    'an empty list of choices': ({'required_any': [[]]}, "'required_any' has an empty list:"),
    'a choice that is no trait': ({'required_any': [['FOO', 'CUSTOM_A']]}, "'required_any': 'FOO' is not a trait"),
    'null in a list': ({'required_any': [None]}, 'must be a list'),
    'a flavor that is a string': ({'flavor': 'm1.small'}, "'flavor' must be an object"),
    'extra_specs that are a list': (
        {'flavor': {'extra_specs': ['trait:CUSTOM_A']}},
        "'extra_specs' of the flavor must",
    ),
    'properties that are a string': ({'image': {'properties': 'x'}}, "'properties' of the image must be an object"),
    'a class that is a number': ({'resource_class': 5}, "'resource_class' is a string"),
    'an empty class': ({'resource_class': ''}, "'resource_class' is a string"),
    'a preferred number': ({'preferred': [5]}, "'preferred': 5 is not a string"),
    'a preferred name that is no trait': ({'preferred': ['FOO']}, "'preferred': 'FOO' is not a trait"),
    'a weight that is a string': (
        {'preferred': [{'trait': 'CUSTOM_A', 'weight': '1'}]},
        'the weight of a trait is an integer',
    ),
    'a weight that is too large': (
        {'preferred': [{'trait': 'CUSTOM_A', 'weight': 10**7}]},
        'the weight of a trait is an integer',
    ),
    'a weight without a trait': ({'preferred': [{'weight': 1}]}, "'preferred' lists traits, or objects"),
    'an unknown key beside a trait': (
        {'preferred': [{'trait': 'CUSTOM_A', 'x': 1}]},
        "'preferred' lists traits, or objects",
    ),
    'preferred twice': ({'preferred': ['CUSTOM_A', {'trait': 'CUSTOM_A'}]}, "'preferred' names CUSTOM_A twice"),
    'too many': ({'required': [f'CUSTOM_{number}' for number in range(201)]}, 'more than 200 traits'),
    'too many to choose from': (
        {'required_any': [[f'CUSTOM_{number}', 'CUSTOM_A'] for number in range(11)]},
        "'required_any' has more than 10 lists",
    ),
}


@pytest.mark.parametrize(('arguments', 'message'), INVALID.values(), ids=INVALID)
def test_invalid(arguments, message):
    with pytest.raises((failures.InvalidInput, failures.InvalidTrait)) as failure:
        understand(**arguments)
    assert message in str(failure.value)


CONFLICTS = [
    (
        {'flavor': flavor(trait__CUSTOM_A='forbidden'), 'image': image('CUSTOM_A')},
        "CUSTOM_A is required by image property 'trait:CUSTOM_A' and forbidden by flavor extra_specs 'trait:CUSTOM_A'.",
    ),
    (
        {'flavor': flavor(trait1__CUSTOM_A='required', trait2__CUSTOM_A='forbidden')},
        "CUSTOM_A is required by flavor extra_specs 'trait1:CUSTOM_A' and forbidden by flavor extra_specs "
        "'trait2:CUSTOM_A'.",
    ),
    (
        {'required': ['CUSTOM_A'], 'forbidden': ['CUSTOM_A']},
        "CUSTOM_A is required by 'required' and forbidden by 'forbidden'.",
    ),
    (
        {'required_any': [['CUSTOM_B', 'CUSTOM_A']], 'forbidden': ['CUSTOM_A', 'CUSTOM_B']},
        "One of CUSTOM_A, CUSTOM_B is required by 'required_any' and forbidden by 'forbidden'.",
    ),
]


@pytest.mark.parametrize(('arguments', 'message'), CONFLICTS)
def test_conflicts(arguments, message):
    with pytest.raises(failures.ConflictingTraits) as conflict:
        understand(**arguments)
    assert str(conflict.value) == message


def test_one_allowed_choice_is_enough():
    understand(required_any=[['CUSTOM_A', 'CUSTOM_B']], forbidden=['CUSTOM_A'])


NAMES = st.sets(st.sampled_from([f'CUSTOM_{letter}' for letter in 'ABCDEF']))


def required_by(flavor, image_traits, client):
    """Return the traits that a flavor, an image and a client together require."""
    specs = {f'trait:{name}': 'required' for name in flavor}
    return understand(flavor={'extra_specs': specs}, image=image(*image_traits), required=sorted(client)).required


@hypothesis.given(NAMES, NAMES, NAMES)
def test_union(first, second, third):
    """The union is commutative, associative and idempotent."""
    union = required_by(first, second, third)
    assert union == first | second | third
    assert union == required_by(third, first, second)
    assert required_by(first, first, first) == first


@hypothesis.given(NAMES, NAMES)
def test_query(required, forbidden):
    forbidden -= required
    request = understand(required=sorted(required), forbidden=sorted(forbidden), resource_class='gold')
    query = dict(urllib.parse.parse_qsl(request.placement_query()))
    names = [name for name in query.get('required', '').split(',') if name]
    assert set(names) == required | {f'!{name}' for name in forbidden}
