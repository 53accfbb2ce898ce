"""The alert rules and the dashboard in etc/ use existing metrics and labels."""

import json
import pathlib
import re
from collections import defaultdict

import pytest
import yaml
from prometheus_client import parser

from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from tests.support.client import Client
from tests.support.providers import golden
from tests.support.service import make_app, upgraded

ETC = pathlib.Path(__file__).parents[3] / 'etc'


def alert_expressions():
    document = yaml.safe_load((ETC / 'prometheus-alerts.yaml').read_text())
    return [rule['expr'] for group in document['groups'] for rule in group['rules']]


def dashboard_expressions():
    panels = json.loads((ETC / 'grafana-dashboard.json').read_text())['panels']
    return [target['expr'] for panel in panels for target in panel['targets']]


@pytest.fixture(scope='module')
def samples(tmp_path_factory):
    """{name of a metric: [its labels, …]}, after a reservation that was refused, with a mirror and a flavor."""
    path = tmp_path_factory.mktemp('monitoring')
    url, flavors = upgraded(f'sqlite:///{path}/x.sqlite'), path / 'flavors.yaml'
    flavors.write_text('gold: {"resources:CUSTOM_GOLD": 1}')
    with make_app(url, metrics__enabled=True, metrics__flavors_file=str(flavors)) as app:
        client = Client(app)
        client.node(name='one', maintenance=True)
        body = {'instance_uuid': 'a8b2c1c0-0000-4000-8000-000000000001', 'node_uuid': ['one']}
        assert client.ask('POST', '/v1/reservations', body).status_int == 409
        golden(client)
        promise = {'name': 'a', 'project': 'p', 'count': 1, 'resource_class': 'gold'}
        assert client.ask('POST', '/v1/capacity_reservations', promise).status_int == 201
        turn = Turn('far', 'a', 60)
        mirror_clouds.take(app.service, turn, 'test')
        mirror_clouds.save(app.service, turn, current_at=mirror_clouds.now(app.service), write_queue=0)
        families = list(parser.text_string_to_metric_families(client.ask('GET', '/metrics').text))
    found = defaultdict(list)
    for sample in (sample for family in families for sample in family.samples):
        found[sample.name].append(sample.labels)
    return found


@pytest.mark.parametrize('expression', [*alert_expressions(), *dashboard_expressions()])
def test_metrics_and_labels(samples, expression):
    names = set(re.findall(r'ironic_traits_\w+', expression))
    assert names <= samples.keys()
    # "instance" and "job" come from Prometheus.
    known = {'instance', 'job', 'le'}.union(*(samples[name][0] for name in names))
    grouped = ','.join(re.findall(r'by \(([^)]*)\)', expression))
    assert set(re.findall(r'\w+', grouped)) | set(re.findall(r'(\w+)=~?"', expression)) <= known


@pytest.mark.parametrize('expression', dashboard_expressions())
def test_no_panel_is_empty(samples, expression):
    """Each selector of a panel has a series in a service with such nodes, flavors and requests."""
    selectors = re.findall(r'(ironic_traits_\w+)(?:{([^}]*)})?', expression)
    assert selectors
    for name, matchers in selectors:
        values = dict(re.findall(r'(\w+)="([^"]*)"', matchers))
        assert any(values.items() <= labels.items() for labels in samples[name]), (name, values)


def test_numbers_are_0_when_there_is_nothing():
    """A panel with one number would show "No data" when no series has the labels, as without nodes in maintenance."""
    panels = json.loads((ETC / 'grafana-dashboard.json').read_text())['panels']
    expressions = [panel['targets'][0]['expr'] for panel in panels if panel['type'] == 'stat']
    assert expressions
    assert [each for each in expressions if not each.endswith(' or vector(0)')] == []
