"""The Helm chart: what Helm renders, checked against the schemas of Kubernetes, and read by the service."""

import configparser

import bcrypt
import helm_python as helm
import kubernetes_validate
import pytest
import yaml

from ironic_traits import conf
from tests.support.checkout import CHECKOUT

CHART = CHECKOUT / 'packaging' / 'helm' / 'ironic-traits'
CLOUDS = yaml.safe_dump({'clouds': {name: {'auth_type': 'none'} for name in ('paris', 'berlin')}})
URL = 'postgresql+psycopg://traits:se$cret@db.example.org/traits'
#: What a user must say.
NEEDED = {'database': URL, 'clouds': CLOUDS}
#: An old version of Kubernetes, and the newest.
VERSIONS = ('1.25', kubernetes_validate.latest_version())


def rendered(**values):
    """Render the chart, and return its objects: {(kind, name): object}."""
    with helm.Chart.load(CHART) as chart:
        chart.validate_schema(NEEDED | values)
        files = chart.render(NEEDED | values, name='inventory', namespace='metal')
    texts = (text for name, text in files.items() if name.endswith('.yaml'))
    documents = [each for text in texts for each in yaml.safe_load_all(text) if each]
    return {
        (each['kind'], each['metadata']['name'].removeprefix('inventory-ironic-traits')): each for each in documents
    }


def configuration(objects, folder):
    """Return the configuration of the rendered objects, as the service reads it."""
    path = folder / 'ironic-traits.conf'
    path.write_text(objects['Secret', '']['stringData']['ironic-traits.conf'])
    return conf.make(['--config-file', str(path)])


def pods(objects):
    """Return the pods of the deployments: {program: specification}."""
    return {
        name[1:]: each['spec']['template']['spec'] for (kind, name), each in objects.items() if kind == 'Deployment'
    }


def test_lint():
    assert helm.lint(CHART, NEEDED, strict=True)['errors'] == []


@pytest.mark.parametrize('version', VERSIONS)
@pytest.mark.parametrize(
    'values',
    [{}, {'clouds': ''}, {'auth': {'strategy': 'keystone'}}, {'service': {'type': 'LoadBalancer', 'port': 80}}],
    ids=str,
)
def test_schemas_of_kubernetes(values, version):
    objects = rendered(**values)
    assert len(objects) >= 5
    for each in objects.values():
        kubernetes_validate.validate(each, version, strict=True)


def test_the_configuration(tmp_path):
    read = configuration(rendered(config='[api]\naccess_log = true\n'), tmp_path)
    assert read.database.connection == URL
    assert read.mirror.clouds == ['berlin', 'paris']
    assert not any([read.start_worker, read.mirror.start_mirror, read.api.noauth_beyond_loopback])
    assert read.api.access_log


@pytest.mark.parametrize('strategy', ['http_basic', 'keystone', 'noauth'])
def test_it_may_listen_for_other_pods(strategy, tmp_path, monkeypatch):
    # As in the image.
    monkeypatch.setenv('OS_DEFAULT__HOST', '0.0.0.0')
    objects = rendered(auth={'strategy': strategy})
    assert configuration(objects, tmp_path).api.auth_strategy == strategy
    assert (('Secret', '-login') in objects) == (strategy == 'http_basic')


@pytest.mark.parametrize('password', ['', 'se$cret'])
def test_the_user(password):
    objects = rendered(auth={'username': 'ops', 'password': password})
    login = objects['Secret', '-login']['stringData']
    user, digest = objects['Secret', '']['stringData']['htpasswd'].strip().split(':')
    assert login['username'] == user == 'ops'
    assert bcrypt.checkpw(login['password'].encode(), digest.encode())
    assert login['password'] == password if password else len(login['password']) >= 32


def test_programs():
    assert list(pods(rendered())) == ['api', 'worker', 'mirror']
    assert list(pods(rendered(clouds=''))) == ['api', 'worker']


def test_containers_may_do_little():
    for name, pod in pods(rendered()).items():
        assert pod['securityContext']['runAsNonRoot']
        assert pod['securityContext']['seccompProfile'] == {'type': 'RuntimeDefault'}
        for container in pod['initContainers'] + pod['containers']:
            # An image that was loaded on the node is in no registry.
            assert container['imagePullPolicy'] == 'IfNotPresent'
            assert container['securityContext'] == {
                'allowPrivilegeEscalation': False,
                'readOnlyRootFilesystem': True,
                'capabilities': {'drop': ['ALL']},
            }, name
        # Only the API is asked whether it is healthy: the others end when they cannot go on.
        assert ('readinessProbe' in pod['containers'][0]) == (name == 'api')


def test_pods_restart_for_a_new_configuration_only():
    def annotations(**values):
        return rendered(**values)['Deployment', '-api']['spec']['template']['metadata']['annotations']

    # Each rendering has another password.
    assert annotations() == annotations()
    assert annotations() != annotations(config='[DEFAULT]\ndebug = true\n')


def test_selectors():
    objects = rendered()
    labels = objects['Deployment', '-api']['spec']['template']['metadata']['labels']
    assert objects['Service', '']['spec']['selector'] == labels
    assert objects['PodDisruptionBudget', '-api']['spec']['selector']['matchLabels'] == labels


@pytest.mark.parametrize(
    ('values', 'reason'),
    [
        ({'database': ''}, 'database'),
        ({'database': 'sqlite:///x'}, 'database'),
        ({'databse': URL}, 'databse'),
        ({'auth': {'strategy': 'noauth2'}}, 'strategy'),
        ({'clouds': 'clouds: [\n'}, 'clouds is not YAML'),
        ({'clouds': 'berlin: {}\n'}, 'clouds has no clouds'),
        ({'config': 'debug = true'}, 'config'),
    ],
)
def test_wrong_values(values, reason):
    with pytest.raises((helm.HelmValuesError, helm.HelmRenderError), match=reason):
        rendered(**values)


def test_versions():
    setup = configparser.ConfigParser(interpolation=None)
    setup.read(CHECKOUT / 'setup.cfg')
    chart = yaml.safe_load((CHART / 'Chart.yaml').read_text())
    assert {chart['version'], chart['appVersion']} == {setup['metadata']['version']}
