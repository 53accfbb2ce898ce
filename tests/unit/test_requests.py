"""What a flavor, an image and a client ask for together."""

import urllib.parse

import hypothesis
import pytest
from hypothesis import strategies as st

from ironic_traits import failures
from ironic_traits.matching.requests import understand


def flavor(**specs):
    """Make a flavor; double underscores stand for colons."""
    return {'extra_specs': {key.replace('__', ':'): value for key, value in specs.items()}}


def image(*required, **properties):
    """Make an image that requires traits."""
    return {'properties': {**{f'trait:{name}': 'required' for name in required}, **properties}}


#: flavor, image: resource class, required, forbidden, the query that nova sends (without limit and root_required).
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
    'as nova was seen to ask': (
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
    'a numbered group, as nova was seen to ask': (
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
    'nothing in them': ({'extra_specs': {}}, {'properties': None}, (None, [], []), ''),
    'more of them than is read': ({'id': 5, 'name': 'x'}, {'id': 'y', 'properties': {}}, (None, [], []), ''),
}


@pytest.mark.parametrize(('flavor', 'image', 'wanted', 'query'), TABLE.values(), ids=TABLE)
def test_table(flavor, image, wanted, query):
    request = understand(flavor=flavor, image=image)
    assert (request.resource_class, sorted(request.required), sorted(request.forbidden)) == wanted
    assert request.instance_traits == wanted[1]
    assert request.placement_query() == query


def test_what_a_client_says_besides():
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
    ('given', 'name'),
    [
        ('gold', 'CUSTOM_GOLD'),
        ('baremetal.gold-1', 'CUSTOM_BAREMETAL_GOLD_1'),
        ('CUSTOM_GOLD', 'CUSTOM_GOLD'),
        # What becomes of a node's class of this name.
        ('CUSTOM_gold', 'CUSTOM_CUSTOM_GOLD'),
    ],
)
def test_resource_class(given, name):
    assert understand(resource_class=given).resource_class == name


IGNORED = [
    (image(**{'trait:CUSTOM_A': 'forbidden'}), "image property 'trait:CUSTOM_A' is 'forbidden', and ignored"),
    (image(**{'trait:nonsense': ''}), "image property 'trait:nonsense' is '', and ignored"),
    (image(**{'trait:CUSTOM_A': None}), "image property 'trait:CUSTOM_A' is None, and ignored"),
    (image(**{'trait1:CUSTOM_A': 'required'}), "image property 'trait1:CUSTOM_A' is ignored"),
]


@pytest.mark.parametrize(('image', 'warning'), IGNORED)
def test_what_an_image_says_in_vain(image, warning):
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
def test_what_placement_would_refuse(flavor, image, warning):
    [told] = understand(flavor=flavor, image=image).warnings
    assert told.startswith(f'{warning} cannot be requested from Placement')


CUSTOM = 'CUSTOM_' + 'A' * 248
WRONG = {
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
    'what no node has': ({'flavor': flavor(resources__VCPU='1')}, "flavor extra_specs 'resources:VCPU' is '1'"),
    'less than nothing': ({'flavor': flavor(resources__VCPU='-1')}, 'an integer of 0 or more'),
    'half a unit': ({'flavor': flavor(resources__CUSTOM_GOLD=0.5)}, 'an integer of 0 or more'),
    'a truth': ({'flavor': flavor(resources__CUSTOM_GOLD=True)}, 'an integer of 0 or more'),
    'digits of others': ({'flavor': flavor(resources__CUSTOM_GOLD='１')}, 'an integer of 0 or more'),
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
    'nothing will do': ({'required_any': [[]]}, "'required_any' has an empty list:"),
    'any of what is none': ({'required_any': [['FOO', 'CUSTOM_A']]}, "'required_any': 'FOO' is not a trait"),
    'null in a list': ({'required_any': [None]}, 'must be a list'),
    'a flavor that is none': ({'flavor': 'm1.small'}, "'flavor' must be an object"),
    'extra_specs that are none': ({'flavor': {'extra_specs': ['trait:CUSTOM_A']}}, "'extra_specs' of the flavor must"),
    'properties that are none': ({'image': {'properties': 'x'}}, "'properties' of the image must be an object"),
    'a class of a number': ({'resource_class': 5}, "'resource_class' is a string"),
    'a class of nothing': ({'resource_class': ''}, "'resource_class' is a string"),
    'a preferred number': ({'preferred': [5]}, "'preferred': 5 is not a string"),
    'a preferred nonsense': ({'preferred': ['FOO']}, "'preferred': 'FOO' is not a trait"),
    'a weight': ({'preferred': [{'trait': 'CUSTOM_A', 'weight': '1'}]}, 'the weight of a trait is an integer'),
    'a heavy one': ({'preferred': [{'trait': 'CUSTOM_A', 'weight': 10**7}]}, 'the weight of a trait is an integer'),
    'a weight of nothing': ({'preferred': [{'weight': 1}]}, "'preferred' lists traits, or objects"),
    'a weight and more': ({'preferred': [{'trait': 'CUSTOM_A', 'x': 1}]}, "'preferred' lists traits, or objects"),
    'preferred twice': ({'preferred': ['CUSTOM_A', {'trait': 'CUSTOM_A'}]}, "'preferred' names CUSTOM_A twice"),
    'too many': ({'required': [f'CUSTOM_{number}' for number in range(201)]}, 'more than 200 traits'),
    'too many to choose from': (
        {'required_any': [[f'CUSTOM_{number}', 'CUSTOM_A'] for number in range(11)]},
        "'required_any' has more than 10 lists",
    ),
}


@pytest.mark.parametrize(('given', 'told'), WRONG.values(), ids=WRONG)
def test_wrong(given, told):
    with pytest.raises((failures.InvalidInput, failures.InvalidTrait)) as wrong:
        understand(**given)
    assert told in str(wrong.value)


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


@pytest.mark.parametrize(('given', 'told'), CONFLICTS)
def test_conflicts(given, told):
    with pytest.raises(failures.ConflictingTraits) as conflict:
        understand(**given)
    assert str(conflict.value) == told


def test_one_that_is_allowed_will_do():
    understand(required_any=[['CUSTOM_A', 'CUSTOM_B']], forbidden=['CUSTOM_A'])


NAMES = st.sets(st.sampled_from([f'CUSTOM_{letter}' for letter in 'ABCDEF']))


def together(**given):
    """Give what is required by a flavor, an image and a client."""
    specs = {f'trait:{name}': 'required' for name in given.get('flavor', ())}
    return understand(
        flavor={'extra_specs': specs}, image=image(*given.get('image', ())), required=sorted(given.get('client', ()))
    ).required


@hypothesis.given(NAMES, NAMES, NAMES)
def test_the_union_is_one(first, second, third):
    """Commutative, associative, idempotent: it does not matter who asks for what, nor how often."""
    union = together(flavor=first, image=second, client=third)
    assert union == first | second | third
    assert union == together(flavor=third, image=first, client=second)
    assert together(flavor=first, image=first, client=first) == first


@hypothesis.given(NAMES, NAMES)
def test_the_query_says_the_same(required, forbidden):
    forbidden -= required
    request = understand(required=sorted(required), forbidden=sorted(forbidden), resource_class='gold')
    query = dict(urllib.parse.parse_qsl(request.placement_query()))
    asked = [name for name in query.get('required', '').split(',') if name]
    assert set(asked) == required | {f'!{name}' for name in forbidden}
