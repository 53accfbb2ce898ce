"""The fields of a runbook."""

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from ironic_traits import failures
from ironic_traits.api import types
from ironic_traits.api.v1 import node_ident
from ironic_traits.api.v1.records import Records
from ironic_traits.api.v1.stored_steps import Steps
from ironic_traits.context import Context, Grant
from ironic_traits.inventory.records import runbooks
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


class Runbook(types.Stored, RunbookBody):
    """A runbook in a response."""

    traits = [str]


class Traits(types.Base):
    """The traits of a runbook."""

    traits = [types.Trait()]


def _check(context: Context, old: dict[str, Any], new: dict[str, Any]) -> None:
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


class _Runbooks(Records):
    """Runbooks, which belong to projects, and not to nodes, as other records do."""

    def allowed(self, context: Context, grant: Grant, text: str, for_all: bool = False) -> Grant:
        """Return the grant as ``Records.allowed`` does.

        :param for_all: whether all callers are allowed to use a public runbook in this way.
        """
        ident = self.ident(context, text)
        if grant.rules:
            owner = runbooks.owner(context, ident)
            if not (for_all and owner.public) and not self.may(context, grant.rules, owner):
                if owner.public or self.may(context, ['baremetal:runbook:get'], owner):
                    raise context.forbidden(grant.rules[0])
                raise failures.RecordNotFound(what='Runbook', ident=ident)
        return grant.of(ident)

    @staticmethod
    def may(context: Context, rules: Sequence[str], owner: sa.Row) -> bool:
        """Whether one of the policy rules allows the request for a runbook.

        :param owner: row with ``owner``.
        """
        return any(context.may(rule, {'runbook.owner': owner.owner}) for rule in rules)


RUNBOOKS = _Runbooks(kind=KIND, rule='baremetal:runbook', returns=Runbook, body=RunbookBody, before=405, check=_check)
