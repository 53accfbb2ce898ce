"""The routes and fields of the installed Ironic, as a program: python -m tests.support.ironic_api < OPERATIONS

The input is a JSON list of operations, ["GET /v1/nodes", …]. A program of its own, because Ironic's options and nova's
have the same names, and are global.
"""

import inspect
import json
import subprocess
import sys


def read(operations):
    """Return {'routes': {operation: [argument, …] or None}, 'fields': {kind of object: [field, …]}} of Ironic."""
    command = [sys.executable, '-W', 'ignore', '-m', 'tests.support.ironic_api']
    done = subprocess.run(command, input=json.dumps(operations), capture_output=True, check=True, text=True)
    return json.loads(done.stdout)


def _arguments(root, operation):
    method, path = operation.lower().split(' ')
    at = root
    for name in path.split('/')[2:]:
        if not name.startswith('{'):
            at = getattr(at, '_subcontroller_map', {}).get(name) or getattr(at, name, None)
            at = at if at is None or inspect.isroutine(at) or inspect.isclass(at) else type(at)
    names = (f'{method}_one' if path.endswith('}') else f'{method}_all', method)
    found = at if inspect.isroutine(at) else next((getattr(at, name) for name in names if hasattr(at, name)), None)
    return list(inspect.signature(found).parameters) if found else None


def _main():
    from ironic import objects
    from ironic.api.controllers import v1

    objects.register_all()
    kinds = {name: kind for name, kind in vars(objects).items() if isinstance(kind, type) and hasattr(kind, 'fields')}
    answer = {
        'routes': {each: _arguments(v1.Controller, each) for each in json.load(sys.stdin)},
        'fields': {name: list(kind.fields) for name, kind in kinds.items()},
    }
    print(json.dumps(answer))


if __name__ == '__main__':
    _main()
