"""Ironic's inspection hooks as a program: python -m tests.support.ironic_hooks < REQUEST

The request is a JSON object: ``options`` of [inspector], names of ``hooks``, and ``cases``, which are objects with the
``inventory``, the ``plugin_data``, the ``properties`` of the node, and the ``ports``, {MAC address: fields}. The output
is the list of the cases after the hooks; null for one whose inspection fails.
"""

import json
import subprocess
import sys


def run(hooks, options, cases):
    """Return the cases after the hooks, as above."""
    request = json.dumps({'hooks': hooks, 'options': options, 'cases': cases})
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.ironic_hooks']
    return json.loads(subprocess.run(command, input=request, capture_output=True, check=True, text=True).stdout)


class _Node:
    uuid, id = 'uuid', 1

    def __init__(self, properties):
        self.properties = properties

    def set_property(self, name, value):
        self.properties[name] = value

    def save(self):
        pass


class _Port:
    uuid, id = 'uuid', 1

    def __init__(self, address, fields):
        self.address, self.physical_network, self.local_link_connection = address, None, {}
        vars(self).update(fields)

    def set_local_link_connection(self, key, value):
        self.local_link_connection[key] = value

    def save(self):
        pass


class _Task:
    context = None

    def __init__(self, case):
        self.node = _Node(case['properties'])
        self.ports = {mac: _Port(mac, fields) for mac, fields in case['ports'].items()}


def _result(hooks, case):
    from ironic.common import exception
    from ironic.objects import port

    task = _Task(case)
    found = task.ports.get
    port.Port.list_by_node_id = lambda *_: task.ports.values()

    def get_by_address(context, address):
        if found(address) is None:
            raise exception.PortNotFound(port=address)
        return found(address)

    port.Port.get_by_address = get_by_address
    inventory, plugin_data = case['inventory'], case['plugin_data']
    try:
        for method in ('preprocess', '__call__'):
            for hook in hooks:
                getattr(hook, method)(task, inventory, plugin_data)
    except Exception:
        # Ironic's hooks let any exception through.
        return None
    ports = {
        mac: {name: getattr(each, name) for name in ('physical_network', 'local_link_connection')}
        for mac, each in task.ports.items()
    }
    return {'plugin_data': plugin_data, 'properties': task.node.properties, 'ports': ports}


def _main(request):
    from importlib.metadata import entry_points

    from ironic.conf import CONF

    CONF([], project='ironic', default_config_files=[])
    for name, value in request['options'].items():
        CONF.set_override(name, value, group='inspector')
    points = entry_points(group='ironic.inspection.hooks')
    hooks = [points[name].load()() for name in request['hooks']]
    return [_result(hooks, case) for case in request['cases']]


if __name__ == '__main__':
    print(json.dumps(_main(json.load(sys.stdin))))
