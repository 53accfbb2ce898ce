"""The traits of providers: list, replace, remove.

A node's provider has the node's own traits, and foreign ones that Placement clients have set (COMPUTE_* of nova, for
example). Only the foreign ones are stored in ``resource_provider_traits``, and only they can be removed here.
"""

import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import orjson
import sqlalchemy as sa

from ironic_traits.context import Context
from ironic_traits.db import names, tables
from ironic_traits.db.engine import referring, retried
from ironic_traits.db.statements.joined import Write
from ironic_traits.db.statements.prepared import prepared
from ironic_traits.db.statements.types import elements, position
from ironic_traits.placement import failures
from ironic_traits.placement.single_provider import GENERATION, take, write_and_bump
from ironic_traits.placement.traits import MOMENT, refuse_unknown

_STORED, _OWN, _NAMED, _PROVIDER = 0, 1, 2, 3
_Trait = tuple[int, datetime.datetime]


class _Traits(NamedTuple):
    """Traits, {name: (id, time of the last change)}.

    :ivar stored: the traits that clients have set on the provider.
    :ivar own: the node's own traits. A provider that is not a node's has none.
    :ivar named: the traits of the request that exist.
    """

    stored: dict[str, _Trait]
    own: dict[str, _Trait]
    named: dict[str, _Trait]


def _select(kind: int) -> sa.Select:
    columns = tables.traits.c
    literal = sa.literal_column(str(kind), sa.Integer).label('kind')
    return sa.select(literal, columns.id, columns.name, MOMENT)


# These statements are built once: to build one for each call takes as long as to execute it.
_STORED_BY_ALL = _select(_STORED).join(
    tables.resource_provider_traits, tables.resource_provider_traits.c.trait_id == tables.traits.c.id
)
_OWN_BY_ALL = _select(_OWN).join(tables.node_traits, tables.node_traits.c.trait == tables.traits.c.name)
_SELECT_STORED = _STORED_BY_ALL.where(
    tables.resource_provider_traits.c.resource_provider_id == sa.bindparam('provider_id')
)
_SELECT_OWN = _OWN_BY_ALL.where(tables.node_traits.c.node_id == sa.bindparam('node_id'))
# The names are one parameter. For an IN with many of them, SQLAlchemy would render the statement at each execution.
_names = elements(sa.bindparam('names', type_=sa.Text())).table_valued('value', name='names')
_SELECT_NAMED = _select(_NAMED).where(tables.traits.c.name.in_(sa.select(_names.c.value)))
_TRAITS = prepared(sa.union_all(_SELECT_STORED, _SELECT_OWN, _SELECT_NAMED))
_SAME = tables.resource_providers.c.uuid == sa.bindparam('uuid')
# The generation of a provider, in the column "id", and its traits: one statement, so they are of the same moment.
_FIND = prepared(
    sa.union_all(
        _STORED_BY_ALL.join(
            tables.resource_providers,
            tables.resource_providers.c.id == tables.resource_provider_traits.c.resource_provider_id,
        ).where(_SAME),
        _OWN_BY_ALL.join(
            tables.resource_providers, tables.resource_providers.c.node_id == tables.node_traits.c.node_id
        ).where(_SAME),
        sa.select(sa.literal_column(str(_PROVIDER), sa.Integer), GENERATION, sa.null(), sa.null()).where(_SAME),
    )
)
_table = tables.resource_provider_traits
_DELETE = sa.delete(_table).where(
    _table.c.resource_provider_id == sa.bindparam('of_provider_id'),
    position(_table.c.trait_id, sa.bindparam('gone_ids', type_=sa.Text())) > 0,
)
_ids = elements(sa.bindparam('new_ids', type_=sa.Text())).table_valued('value', name='ids')
_INSERT = sa.insert(_table).from_select(
    ['resource_provider_id', 'trait_id'],
    sa.select(sa.bindparam('to_provider_id', type_=sa.Integer()), sa.cast(_ids.c.value, sa.Integer)).select_from(_ids),
)


def find(context: Context, uuid: str) -> tuple[int, dict[str, datetime.datetime]]:
    """Return the traits of a provider.

    :returns: (generation of the provider, {name: time of the last change of the trait, …}, sorted by name).
    """
    with context.read() as connection:
        rows = connection.execute(_FIND, {'uuid': uuid}).all()
    generation, traits = None, {}
    for kind, number, name, moment in rows:
        if kind == _PROVIDER:
            generation = number
        else:
            traits[name] = number, moment
    if generation is None:
        raise failures.ProviderNotFound(uuid=uuid)
    return generation, _moments(traits)


@retried
def replace(
    context: Context, uuid: str, generation: int | None, requested_names: Collection[str]
) -> tuple[int, dict[str, datetime.datetime]]:
    """Set the traits of a provider.

    On a node's provider, the node's own traits stay, and requested custom traits are ignored unless the node has them.

    :param generation: the provider's generation in the request; None for no check.
    :returns: as for ``find``.
    :raises failures.ConcurrentUpdate: the provider has another generation.
    :raises failures.TraitNotFound: traits do not exist; the message names all of them.
    """
    with context.write() as connection:
        provider = take(connection, uuid, generation)
        stored, own, named = _read(connection, provider, requested_names)
        refuse_unknown(requested_names, named)
        target = {
            name: trait
            for name, trait in named.items()
            if name not in own and not (provider.node_id and name.startswith(names.PREFIX))
        }
        if target.keys() == stored.keys():
            return provider.generation, _moments({**stored, **own})
        gone = [number for name, (number, _) in stored.items() if name not in target]
        new = [number for name, (number, _) in sorted(target.items()) if name not in stored]
        with referring():
            new_generation = write_and_bump(connection, provider, _writes(provider.id, gone, new))
        return new_generation, _moments({**target, **own})


def _writes(provider_id: int, gone: Sequence[int], new: Sequence[int]) -> Iterator[Write]:
    """Yield the writes that remove traits from a provider, and add others.

    :param gone: ids of traits.
    :param new: ids of traits.
    """
    if gone:
        yield Write(_DELETE, {'of_provider_id': provider_id, 'gone_ids': ','.join(map(str, gone))})
    if new:
        yield Write(_INSERT, {'to_provider_id': provider_id, 'new_ids': orjson.dumps(new).decode()})


def _read(connection: sa.Connection, provider: sa.Row, requested_names: Collection[str]) -> _Traits:
    """Return the traits that a provider has, and those of a request."""
    # MariaDB refuses to compare an ascii column with non-ASCII text.
    ascii_names = sorted(filter(str.isascii, requested_names))
    names_text = orjson.dumps(ascii_names).decode()
    parameters = {'provider_id': provider.id, 'node_id': provider.node_id, 'names': names_text}
    traits = _Traits({}, {}, {})
    for kind, number, name, moment in connection.execute(_TRAITS, parameters).all():
        traits[kind][name] = number, moment
    return traits


def _moments(traits: Mapping[str, _Trait]) -> dict[str, datetime.datetime]:
    """Return the times of traits, sorted by name, as ``find``."""
    return {name: moment for name, (_, moment) in sorted(traits.items())}
