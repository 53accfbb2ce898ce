"""The gabbi tests of OpenStack's Placement, run against this service.

The package ``openstack-placement`` contains the files, and the fixture classes that fill the database for them. The
code of these classes runs unchanged. Requests to the service under test replace the modules that they call.
"""

import ast
import contextlib
import functools
import importlib.util
import os
import pathlib
import re
import types
import unittest
import uuid

import os_resource_classes
import os_traits
from gabbi import fixture, handlers, suitemaker

from tests.support import syntax, yaml_files

_TESTS = pathlib.Path(importlib.util.find_spec('placement').submodule_search_locations[0]) / 'tests' / 'functional'
FILES = sorted((_TESTS / 'gabbits').glob('*.yaml'))

#: {fixture: the profile, a configuration of the service, that it needs}.
_PROFILES = {'SecureRBACPolicyFixture': 'secure', 'OpenPolicyFixture': 'open', 'CORSFixture': 'cors'}
#: Environment variables that the files use.
_UUIDS = (
    *('RP_UUID', 'RP_NAME', 'RP_UUID1', 'RP_NAME1', 'RP_UUID2', 'RP_NAME2'),
    *('PROJECT_ID', 'ADMIN_PROJECT_ID', 'SERVICE_PROJECT_ID', 'USER_ID'),
    *('PROJECT_ID_ALT', 'USER_ID_ALT', 'INSTANCE_UUID', 'MIGRATION_UUID', 'CONSUMER_UUID'),
    *('PARENT_PROVIDER_UUID', 'ALT_PARENT_PROVIDER_UUID'),
)
_CLASSES = {
    'CUSTOM_RES_CLASS': 'CUSTOM_IRON_NFV',
    'CUSTOM_RES_CLASS1': 'CUSTOM_IRON_NFV1',
    'CUSTOM_RES_CLASS2': 'CUSTOM_IRON_NFV2',
}
#: Classes of the package to leave out, because they start Placement's own server.
_UNUSED = {'APIFixture', 'LazyWSGIApp', 'CORSFixture', 'OpenPolicyFixture'}


def profile(path):
    """Return the profile that a file needs: default, secure, open or cors."""
    return _PROFILES.get(yaml_files.load(path)['fixtures'][-1], 'default')


def tests(path):
    """Return the number of tests in a file."""
    return len(yaml_files.load(path)['tests'])


def run(path, app, client):
    """Run the tests of a file.

    :param app: the application, on an empty database.
    :param client: tests.support.client.Client of it, for an administrator.
    :returns: ([names of passed tests], {name of a failed test: reason}).
    """
    before = dict(os.environ)
    try:
        suite = suitemaker.test_suite_from_dict(
            unittest.TestLoader(),
            path.stem.replace('-', '_').replace('.', '_'),
            yaml_files.load(path),
            str(path.parent),
            'localhost',
            80,
            _fixtures(client),
            lambda: _decoded(app),
            handlers=[handler() for handler in handlers.RESPONSE_HANDLERS],
        )
        result = _Result()
        suite.run(result)
        return result.passed, result.broken
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextlib.contextmanager
def filled(path, client):
    """Fill the database for a file, and yield the queries of its tests, with the values of environment variables.

    :param client: as for ``run``.
    """
    before = dict(os.environ)
    try:
        document, module = yaml_files.load(path), _fixtures(client)
        for name in document['fixtures']:
            getattr(module, name)().start_fixture()
        urls = [value for test in document['tests'] for value in (test.get('GET'), test.get('url')) if value]
        yield [re.sub(r"\$ENVIRON\['(\w+)'\]", lambda match: os.environ.get(match[1], match[0]), url) for url in urls]
    finally:
        os.environ.clear()
        os.environ.update(before)


def _decoded(app):
    """Wrap an application so that it gets paths in latin-1, as from a WSGI server; gabbi passes them as Unicode."""

    def application(environ, start_response):
        return app(environ | {'PATH_INFO': environ['PATH_INFO'].encode().decode('latin-1')}, start_response)

    return application


class _Result(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.passed, self.broken = [], {}

    def addSuccess(self, test):
        self.passed.append(_name(test))

    def addFailure(self, test, error):
        self.broken[_name(test)] = self._exc_info_to_string(error, test)

    addError = addFailure

    def addSkip(self, test, reason):
        self.broken[_name(test)] = reason


def _name(test):
    return getattr(test, 'test_data', {}).get('name') or str(test)


def _fixtures(client):
    """Return a module of the package's fixture classes, which fill the database through requests."""
    uuids = _Uuids()
    filler = _Filler(client, uuids)

    class APIFixture(fixture.GabbiFixture):
        def start_fixture(self):
            os.environ.update({name: str(uuid.uuid4()) for name in _UUIDS} | _CLASSES)
            self.context = None

        def stop_fixture(self):
            pass

    class ResourceClass(types.SimpleNamespace):
        def create(self):
            filler.resource_class(self.name)

    module = types.ModuleType('placement_fixtures')
    vars(module).update(
        os=os,
        ot=os_traits,
        orc=os_resource_classes,
        uuids=uuids,
        tb=filler,
        uuidutils=types.SimpleNamespace(generate_uuid=lambda: str(uuid.uuid4())),
        user_obj=types.SimpleNamespace(User=_Named),
        project_obj=types.SimpleNamespace(Project=_Named),
        rc_obj=types.SimpleNamespace(ResourceClass=lambda context, name: ResourceClass(name=name)),
        APIFixture=APIFixture,
        CORSFixture=APIFixture,
        OpenPolicyFixture=APIFixture,
    )
    exec(_fixture_classes(), vars(module))
    return module


@functools.cache
def _fixture_classes():
    """Return the compiled fixture classes of the package, of which each file needs new ones."""
    source = _TESTS / 'fixtures' / 'gabbits.py'
    (tree,) = syntax.trees([source.read_text()])
    tree.body = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name not in _UNUSED]
    return compile(tree, source, 'exec')


class _Uuids:
    """Attributes that are random uuids, one for each name."""

    def __getattr__(self, name):
        value = str(uuid.uuid4())
        setattr(self, name, value)
        return value


class _Named(types.SimpleNamespace):
    """A user or a project. This service stores them only with their consumers."""

    def __init__(self, context, external_id):
        super().__init__(external_id=external_id)

    def create(self):
        pass


class _Filler:
    """The functions that the fixtures call, which fill the database through requests."""

    def __init__(self, client, uuids):
        self._client = client
        self._uuids = uuids

    def _ask(self, method, path, document=None, version='1.39'):
        response = self._client.ask(
            method, path, document, version=None, headers={'OpenStack-API-Version': f'placement {version}'}
        )
        assert response.status_int in (200, 201, 204), response.text
        return response

    def _generation(self, provider):
        return self._ask('GET', f'/resource_providers/{provider.uuid}').json['generation']

    def create_provider(self, context, name, *aggregates, uuid=None, parent=None):
        provider = types.SimpleNamespace(name=name, uuid=uuid or getattr(self._uuids, name))
        body = {'name': name, 'uuid': provider.uuid, 'parent_provider_uuid': parent}
        self._ask('POST', '/resource_providers', body)
        # Version 1.1 needs no generation, and does not increment it.
        path = f'/resource_providers/{provider.uuid}/aggregates'
        provider.set_aggregates = lambda aggregates: self._ask('PUT', path, list(aggregates), '1.1')
        if aggregates:
            provider.set_aggregates(aggregates)
        return provider

    def resource_class(self, name):
        if name.startswith('CUSTOM_'):
            self._ask('PUT', f'/resource_classes/{name}')

    def add_inventory(self, provider, name, total, **values):
        self.resource_class(name)
        body = {'resource_class': name, 'total': total, 'max_unit': total} | values
        self._ask('POST', f'/resource_providers/{provider.uuid}/inventories', body)

    def set_traits(self, provider, *names):
        for name in names:
            if name.startswith('CUSTOM_'):
                self._ask('PUT', f'/traits/{name}')
        body = {'traits': list(names), 'resource_provider_generation': self._generation(provider)}
        self._ask('PUT', f'/resource_providers/{provider.uuid}/traits', body)

    def ensure_consumer(self, context, user, project, consumer_id=None):
        return types.SimpleNamespace(uuid=consumer_id or str(uuid.uuid4()), user=user, project=project)

    def set_allocation(self, context, provider, consumer, used):
        body = {
            'allocations': {provider.uuid: {'resources': used}},
            'consumer_generation': None,
            'project_id': consumer.project.external_id,
            'user_id': consumer.user.external_id,
        }
        self._ask('PUT', f'/allocations/{consumer.uuid}', body, '1.28')

    def create_user_and_project(self, context, prefix='fake'):
        return _Named(context, f'{prefix}-user'), _Named(context, f'{prefix}-project')
