"""The changes of inspection rules to a node and its ports, besides traits, at the end of an inspection.

If the service does not allow a change, all changes of its rule are left out.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import orjson
import sqlalchemy as sa
from oslo_db import exception as db_exception

from ironic_traits import failures
from ironic_traits.db import tables
from ironic_traits.db.statements.annotations import Values
from ironic_traits.db.statements.types import Json, now
from ironic_traits.deploy import base
from ironic_traits.inventory.core import node_names
from ironic_traits.inventory.core.secrets import with_masks
from ironic_traits.inventory.core.single_node import change
from ironic_traits.inventory.holds import node_guards
from ironic_traits.inventory.records.ports import adopt_network, check_networks
from ironic_traits.matching.rules import rule_changes
from ironic_traits.matching.rules.rule_changes import FIELDS, InvalidPath, RuleChange
from ironic_traits.matching.rules.rule_evaluation import Evaluation
from ironic_traits.resources.values import differ

#: The fields of a port that rules may change.
PORT_FIELDS = (
    'category', 'description', 'extra', 'local_link_connection', 'name', 'physical_network', 'pxe_enabled', 'vendor',
)  # fmt: skip
_NODE_COLUMNS = tuple(tables.nodes.c[name] for name in ('id', 'uuid', 'instance_uuid', *FIELDS))
_MAX_DESCRIPTION = 4096


class _Refused(ValueError):
    """A change is not allowed. The text says why."""


def carry_out(connection: sa.Connection, node: sa.Row, evaluation: Evaluation) -> list[tuple[str, str]]:
    """Apply the changes of rules to a node and its ports.

    :param connection: connection of a writer that has taken the node's lock.
    :param node: the result of ``take``.
    :returns: [(name of a rule, why its changes were left out), …].
    :raises base.WorkFailed: the node's provider in Placement does not allow the change of its resource class.
    """
    row = connection.execute(sa.select(*_NODE_COLUMNS).where(tables.nodes.c.id == node.id)).one()
    before = {name: row._mapping[name] for name in FIELDS}
    ports = _Ports(connection, node.uuid)
    fields, refused = dict(before), []
    for result in evaluation.results:
        changes = [each for each in result.effects.changes if each.kind != 'plugin_data']
        try:
            new = _applied(fields, [each for each in changes if each.kind != 'port'])
            _check_fields(connection, row, fields, new)
            ports.apply([each for each in changes if each.kind == 'port'])
            fields = new
        except (_Refused, InvalidPath, failures.Failure) as error:
            # The sentence may contain values that only sensitive rules may see.
            reason = 'the rule is sensitive' if result.rule.is_sensitive else str(error).rstrip('.')
            refused.append((result.rule.name, reason))
    _write(connection, node, {name: value for name, value in fields.items() if differ(value, before[name])})
    ports.write()
    return refused


def _applied(fields: Values, changes: Iterable[RuleChange]) -> Values:
    """Return the fields of a node after changes."""
    document: Mapping[str, Any] = fields
    for each in changes:
        document, _ = rule_changes.applied(each, document, {})
    return {name: _normal(tables.nodes.c[name], document.get(name)) for name in fields}


def _normal(column: sa.Column, value: Any) -> Any:
    """Return a value in the form in which it is stored.

    :raises _Refused: it cannot be stored.
    """
    if isinstance(column.type, Json):
        if not isinstance(value or {}, dict):
            raise _Refused(f'{column.name} would not be an object')
        try:
            return orjson.loads(orjson.dumps(value or {}))
        except orjson.JSONEncodeError as error:
            raise _Refused(f'{column.name} would have a value that cannot be stored: {error}') from error
    if isinstance(column.type, sa.Boolean):
        if not isinstance(value, bool):
            raise _Refused(f'{column.name} would be neither true nor false')
        return value
    length = getattr(column.type, 'length', None) or _MAX_DESCRIPTION
    if value is not None and not (isinstance(value, str) and len(value) <= length):
        raise _Refused(f'{column.name} would not be a text of at most {length} characters')
    return value


def _check_fields(connection: sa.Connection, node: sa.Row, old: Values, new: Values) -> None:
    """Raise a failure, or _Refused, unless a change of a node's fields is allowed."""
    if new['name'] != old['name'] and new['name'] is not None:
        if not node_names.is_name(new['name']):
            raise _Refused(f'{new["name"]!r} is not a valid name of a node')
        if connection.scalar(sa.select(sa.exists().where(tables.nodes.c.name == new['name']))):
            raise _Refused(f'another node has the name {new["name"]}')
    network = new['network_data']
    if network and not all(isinstance(network.get(key), list) for key in ('links', 'networks', 'services')):
        raise _Refused('network_data would lack links, networks or services')
    if new['resource_class'] != old['resource_class'] and old['resource_class']:
        node_guards.check_free(connection, node)


def _write(connection: sa.Connection, node: sa.Row, changes: Values) -> None:
    if not changes:
        return
    try:
        change(connection, node, changes)
    except db_exception.DBDuplicateEntry as error:
        # Another node has got the name after the check.
        raise db_exception.RetryRequest(error) from error
    except (failures.ProviderTaken, failures.ProviderInUse) as error:
        raise base.WorkFailed(str(error)) from error


class _Ports:
    """The ports of a node, with the changes of rules.

    :param node_uuid: uuid of the node.
    """

    def __init__(self, connection: sa.Connection, node_uuid: str) -> None:
        self._connection, self._node_uuid = connection, node_uuid
        self._before: dict[str, Values] | None = None
        self._after: dict[str, Values] = {}

    def apply(self, changes: Iterable[RuleChange]) -> None:
        """Apply the changes of one rule.

        :raises _Refused: a change is not allowed. Then none is applied.
        :raises InvalidPath: the same.
        :raises failures.Failure: the same.
        """
        after = dict(self._after)
        for each in changes:
            if each.path[0] not in PORT_FIELDS:
                raise _Refused(f'rules cannot change {each.path[0]} of a port, only {", ".join(PORT_FIELDS)}')
            old = after.get(uuid := self._uuid(each.port_id)) or self._rows[uuid]
            # The same change, but applied to the document of the port.
            new, _ = rule_changes.applied(dataclasses.replace(each, kind='node'), old, {})
            after[uuid] = {**old, **{name: _normal(tables.ports.c[name], new.get(name)) for name in PORT_FIELDS}}
            self._check_name(old, after[uuid])
        self._check_networks(after)
        self._after = after

    def write(self) -> None:
        """Store the changes."""
        for uuid, new in self._after.items():
            old = self._rows[uuid]
            changes = {name: new[name] for name in PORT_FIELDS if differ(new[name], old[name])}
            if changes:
                statement = sa.update(tables.ports).where(tables.ports.c.uuid == uuid)
                values = with_masks(tables.ports, {**changes, 'updated_at': now()})
                self._connection.execute(statement.values(values))
            if 'physical_network' in changes and new['portgroup_uuid']:
                adopt_network(self._connection, new['portgroup_uuid'], new['physical_network'])

    @property
    def _rows(self) -> dict[str, Values]:
        """The ports as they are stored, {uuid: {column: value}}."""
        if self._before is None:
            statement = sa.select(tables.ports).where(tables.ports.c.node_uuid == self._node_uuid)
            self._before = {row.uuid: dict(row._mapping) for row in self._connection.execute(statement)}
        return self._before

    def _uuid(self, port_id: Any) -> str:
        """Return the uuid of a port of the node.

        :param port_id: its uuid or its MAC address.
        """
        for uuid, row in self._rows.items():
            if isinstance(port_id, str) and port_id.lower() in (uuid, row['address']):
                return uuid
        raise _Refused(f'the node has no port {str(port_id)[:100]!r}')

    def _check_name(self, old: Values, new: Values) -> None:
        if new['name'] != old['name'] and new['name'] is not None:
            same = sa.exists().where(tables.ports.c.name == new['name'], tables.ports.c.uuid != new['uuid'])
            if not node_names.is_name(new['name']) or self._connection.scalar(sa.select(same)):
                raise _Refused(f'{new["name"]!r} cannot be the name of the port')

    def _check_networks(self, after: Mapping[str, Values]) -> None:
        """Raise OtherNetwork unless the ports of each portgroup are on one physical network."""
        for uuid, new in after.items():
            group = new['portgroup_uuid']
            if group and new['physical_network'] != (self._after.get(uuid) or self._rows[uuid])['physical_network']:
                others = [row for row in {**self._rows, **after}.values() if row['portgroup_uuid'] == group]
                networks = [new['physical_network'], *(row['physical_network'] for row in others)]
                check_networks(self._connection, group, networks)
