"""The validation of lists of names, without a call of jsonschema for each name."""

import jsonschema
import pytest

from ironic_traits.api.placement import validation
from ironic_traits.placement import failures

_ITEM = {'type': 'string', 'minLength': 1, 'maxLength': 5}
_SCHEMA = {'type': 'array', 'items': _ITEM}


@pytest.mark.parametrize('names', [[], ['A'], ['ABCDE', 'A']])
def test_valid_names(names):
    validation.validate(names, _SCHEMA)


@pytest.mark.parametrize('names', [['A', ''], ['ABCDEF'], ['A', 5], ['A', None], [['A']], 'A', {'A': 1}])
def test_messages_of_jsonschema(names):
    error = jsonschema.exceptions.best_match(jsonschema.Draft202012Validator(_SCHEMA).iter_errors(names))
    with pytest.raises(failures.BadRequest) as raised:
        validation.validate(names, _SCHEMA)
    assert str(error) in str(raised.value)


@pytest.mark.parametrize('item', [{'type': 'string', 'pattern': 'A'}, {'type': 'integer'}, {'enum': ['A']}])
def test_other_items(item):
    with pytest.raises(failures.BadRequest):
        validation.validate(['B'], {'type': 'array', 'items': item})
