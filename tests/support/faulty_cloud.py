"""A cloud in memory that others write to, and that fails on request."""

from ironic_traits.mirror.cloud import Answer, NotInCloud, Unreadable, Unsent
from tests.support.fake_cloud import FakeCloud

#: What a request may meet. ``lost``: the cloud executes it, and its response is lost. ``half`` and ``empty``: lists
#: lack items. ``locked`` and ``refused``: requests that write are.
FAULTS = ('down', 'failing', 'silent', 'lost', 'half', 'empty', 'locked', 'refused')
_ANSWERS = {
    'failing': Answer(500, 'It failed.'),
    'silent': Answer(None, 'The time is over.'),
    'locked': Answer(409, 'The node is locked by host x.'),
    'refused': Answer(400, 'No.'),
}
_NEW = {'driver': 'ipmi', 'provision_state': 'available', 'power_state': 'power off', 'resource_class': 'gold'}


class FaultyCloud(FakeCloud):
    """The cloud.

    :ivar hidden: uuids of nodes that it does not show.
    """

    def __init__(self):
        super().__init__()
        self.hidden = set()
        self._fault, self._after = None, 0

    def fail(self, fault, after=0):
        """Let all requests fail, but for the next ones; None to end this.

        :param fault: one of FAULTS.
        """
        self._fault, self._after = fault, after

    @property
    def nodes(self):
        """All nodes, {uuid: node}."""
        return self.items['nodes']

    @property
    def shown(self):
        """The nodes that it shows, {uuid: node}."""
        return {uuid: node for uuid, node in self.nodes.items() if uuid not in self.hidden}

    def add(self, uuid, **fields):
        """Create a node with a uuid."""
        fixed = {'uuid': uuid, 'created_at': self._now(), 'updated_at': None, 'instance_uuid': None}
        self.nodes[uuid] = fixed | {'traits': [], 'maintenance': False} | _NEW | fields

    def get(self, path, **query):
        """Return a document as ``Cloud.get`` does."""
        fault = self._next()
        if fault == 'down':
            raise Unsent('It is down.')
        if fault in ('failing', 'silent', 'lost'):
            raise Unreadable('It failed.')
        resource, _, rest = path.strip('/').partition('/')
        if rest in self.hidden:
            raise NotInCloud(path)
        document = super().get(path, **query)
        if fault in ('half', 'empty') and rest in ('', 'detail'):
            return {resource: document[resource][: len(document[resource]) // 2 if fault == 'half' else 0]}
        return document

    def _list(self, resource, **query):
        if resource != 'nodes':
            return super()._list(resource, **query)
        everything, self.items['nodes'] = self.nodes, self.shown
        try:
            return super()._list(resource, **query)
        finally:
            self.items['nodes'] = everything

    def send(self, method, path, timeout=None, patch=None):
        """Execute a request that writes, as ``Cloud.send`` does."""
        fault = self._next()
        if fault == 'down':
            raise Unsent('It is down.')
        if fault in _ANSWERS:
            return _ANSWERS[fault]
        uuid, _, trait = path.removeprefix('/nodes/').partition('/traits/')
        if uuid not in self.shown:
            answer = Answer(404, f'Node {uuid} could not be found.')
        else:
            answer = self._write_trait(method, uuid, trait) if trait else self._patch(uuid, patch[0].get('value'))
        return Answer(None, 'The time is over.') if fault == 'lost' else answer

    def _write_trait(self, method, uuid, trait):
        before = set(self.nodes[uuid]['traits'])
        if method == 'DELETE' and trait not in before:
            return Answer(404, f'Node {uuid} does not have the trait {trait}.')
        self.change('nodes', uuid, traits=sorted(before | {trait} if method == 'PUT' else before - {trait}))
        return Answer(204, '')

    def _patch(self, uuid, instance):
        before, other = self.nodes[uuid]['instance_uuid'], self.holder('nodes', 'instance_uuid', instance)
        if instance and before not in (None, instance):
            return Answer(409, f'Node {uuid} is associated with instance {before}.')
        if instance and other not in (None, uuid):
            return Answer(409, f'Instance {instance} is already associated with a node.')
        if not instance and self.nodes[uuid]['provision_state'] != 'available':
            return Answer(409, 'The node is deployed.')
        self.change('nodes', uuid, instance_uuid=instance)
        return Answer(200, '', dict(self.nodes[uuid]))

    def _next(self):
        """Return the fault of the next request."""
        self.requests += 1
        self._after -= 1
        return self._fault if self._after < 0 else None
