"""The fields of a runbook."""

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.v1 import node_ident
from ironic_traits.api.v1.records import Records
from ironic_traits.api.v1.stored_steps import Steps
from ironic_traits.inventory.records.runbooks import RUNBOOKS as KIND
from ironic_traits.inventory.records.runbooks import TRAITS_SINCE
from ironic_traits.matching import traits


class RunbookBody(types.Base):
    """The fields of a runbook that clients may set."""

    _resource = KIND.resource

    uuid = types.UUID
    name = types.Text(minimum=1, maximum=255)
    description = types.TEXT_255
    extra = types.OBJECT
    public = types.BOOLEAN
    owner = types.TEXT_255
    disable_ramdisk = types.BOOLEAN
    steps = Steps('runbook', ('interface', 'step', 'order'))


class Runbook(RunbookBody):
    """A runbook in a response."""

    created_at = types.MOMENT
    updated_at = types.MOMENT
    traits = [str]
    links = types.LINKS


class Runbooks(types.Base):
    """A page of runbooks."""

    runbooks = [Runbook]
    next = str


class Traits(types.Base):
    """The traits of a runbook."""

    traits = [types.Trait()]


def _check(context, old, new):
    name = new['name']
    # As in Ironic, a PATCH may set any name at all versions.
    if not old and context.minor < TRAITS_SINCE and not traits.is_trait(name):
        raise failures.InvalidTrait(name, traits.nearest(name), 'name')
    if not node_ident.is_ident(name):
        raise failures.InvalidInput(
            reason=f"Invalid name {name!r} for a runbook: a name has 1 to 255 letters, digits, '-', '.', '_' and '~'."
        )
    changes = old and (new['owner'] != old['owner'] or new['public'] != old['public'])
    if changes and new['owner'] is not None and new['public']:
        raise failures.InvalidInput(
            reason="Couldn't apply patch. Reason: There cannot be an owner for a public runbook"
        )


RUNBOOKS = Records(kind=KIND, body=RunbookBody, check=_check)
