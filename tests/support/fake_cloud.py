"""A cloud in memory, for thousands of changes in a short time. It has as much of Ironic's API as a mirror reads."""

import itertools

from oslo_utils import uuidutils

from ironic_traits.mirror.cloud import NotInCloud

#: {resource: columns with unique values}.
UNIQUE = {'nodes': ('name', 'instance_uuid'), 'portgroups': ('name', 'address'), 'ports': ('name', 'address')}
_NEW = {
    'nodes': {'driver': 'ipmi', 'provision_state': 'available', 'power_state': 'power off', 'traits': []},
    'portgroups': {'mode': 'active-backup'},
    'ports': {},
}


class FakeCloud:
    """A cloud that a Follower follows instead of a ``Cloud``.

    :ivar items: {resource: {uuid: item}}, in the order of their creation.
    """

    name = endpoint = 'far'
    version, minor, is_connected, requests = '1.81', 81, True, 0

    def __init__(self):
        self.items = {name: {} for name in ('chassis', 'nodes', 'portgroups', 'ports', 'allocations')}
        self._clock = itertools.count()

    def close(self):
        """Accept the call: there is no connection."""

    def create(self, resource, **fields):
        """Create an item, and return its uuid."""
        uuid = uuidutils.generate_uuid()
        times = {'created_at': self._now(), 'updated_at': None}
        self.items[resource][uuid] = {'uuid': uuid, **times, **_NEW[resource], **fields}
        return uuid

    def change(self, resource, uuid, **fields):
        """Change fields of an item."""
        self.items[resource][uuid] |= fields | {'updated_at': self._now()}

    def delete(self, resource, uuid):
        """Delete an item. The ports and portgroups of a node are deleted with it."""
        del self.items[resource][uuid]
        for other in ('portgroups', 'ports'):
            items = self.items[other]
            self.items[other] = {each: item for each, item in items.items() if item.get('node_uuid') != uuid}

    def holder(self, resource, field, value):
        """Return the uuid of the item that has a value; None if none has it."""
        return next((uuid for uuid, item in self.items[resource].items() if item.get(field) == value), None)

    def get(self, path, **query):
        """Return a document as ``Cloud.get`` does."""
        resource, _, rest = path.strip('/').partition('/')
        if rest in ('', 'detail'):
            return self._list(resource, **query)
        if rest not in self.items.get(resource, {}):
            raise NotInCloud(path)
        return dict(self.items[resource][rest])

    def _list(self, resource, sort_key, sort_dir, limit, marker=None, fields=None):
        items = [each for each in self.items[resource].values() if sort_key == 'id' or each['updated_at']]
        if sort_key != 'id':
            items.sort(key=lambda item: item[sort_key])
        if sort_dir == 'desc':
            items.reverse()
        if marker:
            uuids = [each['uuid'] for each in items]
            if marker not in uuids:
                raise NotInCloud(marker)
            items = items[uuids.index(marker) + 1 :]
        document = {resource: [dict(each) for each in items[:limit]]}
        return document | ({'next': 'next'} if len(items) > limit else {})

    def _now(self):
        seconds = next(self._clock)
        return f'2026-01-{1 + seconds // 86400:02}T{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}'
