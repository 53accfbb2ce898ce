"""The real Placement's own gabbi suite, against this service.

The files travel in the package ``openstack-placement``, and so do the classes that fill a database for them.  Their
bodies run as they are, with the modules that they call replaced by requests to the service under test.
"""

import ast
import importlib.util
import os
import pathlib
import types
import unittest
import uuid

import os_resource_classes
import os_traits
from gabbi import fixture, handlers, suitemaker, utils

_TESTS = pathlib.Path(importlib.util.find_spec('placement').submodule_search_locations[0]) / 'tests' / 'functional'
FILES = sorted((_TESTS / 'gabbits').glob('*.yaml'))

#: The configuration of the service that a fixture stands for.
_PROFILES = {'SecureRBACPolicyFixture': 'secure', 'OpenPolicyFixture': 'open', 'CORSFixture': 'cors'}
#: The environment variables that the files name.
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
#: What the classes of the package hold that is about its own server.
_NOT_TAKEN = {'APIFixture', 'LazyWSGIApp', 'CORSFixture', 'OpenPolicyFixture'}


def profile(path):
    """Name the configuration that a file needs: default, secure, open or cors."""
    return _PROFILES.get(utils.load_yaml(yaml_file=str(path))['fixtures'][-1], 'default')


def tests(path):
    """Count the tests of a file."""
    return len(utils.load_yaml(yaml_file=str(path))['tests'])


def run(path, app, client):
    """Run a file.

    :param app: the application, on an empty database.
    :param client: tests.client.Client of it, for an administrator.
    :returns: ([names of the tests that passed], {name: what was wrong}).
    """
    before = dict(os.environ)
    try:
        suite = suitemaker.test_suite_from_dict(
            unittest.TestLoader(),
            path.stem.replace('-', '_').replace('.', '_'),
            utils.load_yaml(yaml_file=str(path)),
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


def _decoded(app):
    """Give the path to an application as a WSGI server does; gabbi gives it as text."""

    def called(environ, start_response):
        return app(environ | {'PATH_INFO': environ['PATH_INFO'].encode().decode('latin-1')}, start_response)

    return called


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
    """Make a module of the package's fixture classes that fill the database through requests."""
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
    source = _TESTS / 'fixtures' / 'gabbits.py'
    tree = ast.parse(source.read_text())
    tree.body = [part for part in tree.body if isinstance(part, ast.ClassDef) and part.name not in _NOT_TAKEN]
    exec(compile(tree, source, 'exec'), vars(module))
    return module


class _Uuids:
    """A uuid for each name."""

    def __getattr__(self, name):
        made = str(uuid.uuid4())
        setattr(self, name, made)
        return made


class _Named(types.SimpleNamespace):
    """A user or a project, which needs no row of its own."""

    def __init__(self, context, external_id):
        super().__init__(external_id=external_id)

    def create(self):
        pass


class _Filler:
    """Fills a database through requests; the functions are those that the fixtures call."""

    def __init__(self, client, uuids):
        self._client = client
        self._uuids = uuids

    def _ask(self, method, path, document=None, version='1.39'):
        answer = self._client.ask(
            method, path, document, version=None, headers={'OpenStack-API-Version': f'placement {version}'}
        )
        assert answer.status_int in (200, 201, 204), answer.text
        return answer

    def _generation(self, provider):
        return self._ask('GET', f'/resource_providers/{provider.uuid}').json['generation']

    def create_provider(self, context, name, *aggregates, uuid=None, parent=None):
        provider = types.SimpleNamespace(name=name, uuid=uuid or getattr(self._uuids, name))
        body = {'name': name, 'uuid': provider.uuid, 'parent_provider_uuid': parent}
        self._ask('POST', '/resource_providers', body)
        # Without a generation, which this does not move then.
        path = f'/resource_providers/{provider.uuid}/aggregates'
        provider.set_aggregates = lambda wanted: self._ask('PUT', path, list(wanted), '1.1')
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
