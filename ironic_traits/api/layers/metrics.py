"""/metrics: metrics of the service, in the format of Prometheus.

The counters of all processes that share PROMETHEUS_MULTIPROC_DIR are added up. The process that handles the request
reads the metrics of nodes, reservations and workers from the database.
"""

import contextlib
import functools
import logging
import os
import pathlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import prometheus_client
import sqlalchemy as sa
import yaml
from oslo_config import cfg
from oslo_db import exception as db_exception
from prometheus_client import core, multiprocess, registry

from ironic_traits import yaml_documents
from ironic_traits.api.resource import METHODS, ROUTE
from ironic_traits.api.v1 import protocol_selection
from ironic_traits.context import Grant
from ironic_traits.db.engine import Database
from ironic_traits.db.failover import outage
from ironic_traits.failures import Failure
from ironic_traits.inventory.core import counts
from ironic_traits.inventory.holds import capacity_reservations
from ironic_traits.inventory.mirrored import mirror_clouds
from ironic_traits.inventory.provisioning import workers
from ironic_traits.inventory.search import capacity
from ironic_traits.inventory.search.capacity import Flavor
from ironic_traits.inventory.search.matches import NodeRequest
from ironic_traits.matching import requests, topology
from ironic_traits.service import Service
from ironic_traits.version import version

LOG = logging.getLogger(__name__)

#: Maximum number of flavors whose nodes are counted.
MAX_FLAVORS = 100
#: Seconds. A page of 1,000 nodes takes about as long as the middle buckets.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_METHODS = frozenset({*METHODS, 'HEAD', 'OPTIONS'})
_SHARED = 'PROMETHEUS_MULTIPROC_DIR'
_RESERVE = ('POST', '/v1/reservations', '409')


class Metrics:
    """A WSGI layer that counts requests, and serves /metrics."""

    def __init__(self, inside: WSGIApplication, service: Service) -> None:
        self._inside = inside
        self._service = service
        self._registry = own = registry.CollectorRegistry()
        labels = ('api', 'method', 'route')
        self._requests = prometheus_client.Counter(
            'ironic_traits_requests', 'Requests.', (*labels, 'status'), registry=own
        )
        self._seconds = prometheus_client.Histogram(
            'ironic_traits_request_seconds', 'Seconds until the response.', labels, registry=own, buckets=_BUCKETS
        )
        self._refused = prometheus_client.Counter(
            'ironic_traits_reservations_refused', 'Reservations that were refused.', registry=own
        )
        _watch_connections(service.database, own)
        self._flavors = _flavors(service.conf)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ['PATH_INFO'] == '/metrics':
            return self._show(environ, start_response)
        started_at = time.monotonic()
        statuses: list[str] = []

        def start(status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[[bytes], object]:
            statuses.append(status[:3])
            return start_response(status, headers, exc_info)

        body = self._inside(environ, start)
        self._count(environ, statuses[-1], time.monotonic() - started_at)
        return body

    def _count(self, environ: WSGIEnvironment, status: str, seconds: float) -> None:
        api = protocol_selection.protocol(self._service.conf, environ['PATH_INFO']).name
        method = environ['REQUEST_METHOD']
        # Prometheus keeps each label value forever, so all unknown routes and methods share one value.
        route = environ.get(ROUTE, 'none')
        method = method if ROUTE in environ and method in _METHODS else 'any'
        self._requests.labels(api, method, route, status).inc()
        self._seconds.labels(api, method, route).observe(seconds)
        if (method, route, status) == _RESERVE:
            self._refused.inc()

    def _show(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        counters = self._registry
        if _SHARED in os.environ:
            _remove_ended_processes(os.environ[_SHARED])
            counters = registry.CollectorRegistry()
            multiprocess.MultiProcessCollector(counters)
        everything = registry.CollectorRegistry()
        everything.register(counters)
        everything.register(_Counts(self._service, self._flavors))
        return prometheus_client.make_wsgi_app(everything)(environ, start_response)


def _watch_connections(database: Database, own: registry.CollectorRegistry) -> None:
    """Register gauges of the database connections: one of the open ones, one of those in use."""
    for name, description, (more, fewer) in (
        ('open', 'Connections to the database.', ('connect', 'close')),
        ('in_use', 'Connections to the database that are in use.', ('checkout', 'checkin')),
    ):
        gauge = prometheus_client.Gauge(
            f'ironic_traits_database_connections_{name}',
            description,
            ('engine',),
            registry=own,
            multiprocess_mode='livesum',
        )
        for engine, pool in database.pools().items():
            sa.event.listen(pool, more, functools.partial(_more, gauge.labels(engine), name))
            sa.event.listen(pool, fewer, functools.partial(_fewer, gauge.labels(engine), name))
    # ``gauge`` is that of the connections in use.
    for engine, kept in database.kept().items():
        kept.listen(*(functools.partial(change, gauge.labels(engine), name) for change in (_more, _fewer)))


def _more(gauge: prometheus_client.Gauge, name: str, connection: Any, record: Any, *event: Any) -> None:
    record.record_info[name] = True
    gauge.inc()


def _fewer(gauge: prometheus_client.Gauge, name: str, connection: Any, record: Any, *event: Any) -> None:
    # A connection that failed to reconnect has a second "close" event, which must not be counted.
    if record.record_info.pop(name, False):
        gauge.dec()


def _remove_ended_processes(folder: str) -> None:
    """Remove the live gauges of processes that have ended. Their counters stay."""
    for path in pathlib.Path(folder).glob('gauge_live*_*.db'):
        pid = int(path.stem.rpartition('_')[2])
        if not pathlib.Path(f'/proc/{pid}').exists():
            # Another process may remove the file at the same time.
            with contextlib.suppress(FileNotFoundError):
                multiprocess.mark_process_dead(pid, folder)


def _is_up(row: sa.Row) -> bool:
    return mirror_clouds.state(row) in ('reading', 'following', 'waiting')


def _can_write(row: sa.Row) -> bool | None:
    return None if row.write_queue is None else row.write_failing_since is None


class _Counts:
    """A collector of the metrics that are read from the database for each request."""

    def __init__(self, service: Service, flavors: Sequence[Flavor]) -> None:
        self._service = service
        self._flavors = flavors

    def collect(self) -> Iterator[core.Metric]:
        """Yield the version and the metrics from the database. Without the database, yield only the version."""
        yield core.InfoMetricFamily('ironic_traits_build', 'This release.', {'version': version()})
        try:
            by_state, by_life = counts.nodes_by_state(self._service), counts.reservations_by_life(self._service)
            mirrors = mirror_clouds.find(self._service)
            alive, waiting = workers.alive(self._service), workers.longest_wait(self._service)
            flavors = [
                each._replace(node_request=each.node_request.without_exclusive(self._service)) for each in self._flavors
            ]
            of_flavors = capacity.count_all(self._service, flavors) if flavors else []
            promises = capacity_reservations.kept(self._service).values()
        except (db_exception.DBError, sa.exc.SQLAlchemyError) as error:
            if not outage.is_one(error):
                LOG.exception('The metrics could not be read from the database')
            return
        nodes = core.GaugeMetricFamily('ironic_traits_nodes', 'Nodes.', labels=('provision_state', 'maintenance'))
        for row in by_state:
            nodes.add_metric((row.provision_state, str(bool(row.maintenance)).lower()), row.number)
        yield nodes
        reservations = core.GaugeMetricFamily('ironic_traits_reservations', 'Reservations.', labels=('life',))
        for life, number in by_life.items():
            reservations.add_metric((life,), number)
        yield reservations
        yield core.GaugeMetricFamily('ironic_traits_workers', 'Workers that are alive.', value=alive)
        yield core.GaugeMetricFamily(
            'ironic_traits_work_waiting_seconds', 'Seconds that the oldest work has waited for a worker.', value=waiting
        )
        yield from _of_mirrors(mirrors)
        yield from _of_flavors(of_flavors)
        yield from _of_promises(promises)


def _flavors(conf: cfg.ConfigOpts) -> list[Flavor]:
    """Return the flavors whose nodes are counted.

    :raises oslo_config.cfg.Error: the file cannot be read, or contains anything but flavors.
    """
    path = conf.metrics.flavors_file
    if not path:
        return []
    try:
        document = yaml_documents.load(pathlib.Path(path).read_text(encoding='utf-8'))
        if not isinstance(document, dict) or len(document) > MAX_FLAVORS:
            raise ValueError(f'it must have {{name: {{extra spec: value}}}} of at most {MAX_FLAVORS} flavors')
        return [_flavor(str(name), specs) for name, specs in document.items()]
    except (OSError, ValueError, yaml.YAMLError, Failure) as error:
        raise cfg.Error(f'[metrics] flavors_file {path}: {error}') from error


def _flavor(name: str, specs: Any) -> Flavor:
    """Return a flavor of the file: {extra spec: value}, or {'extra_specs': …, 'topology': …, 'count': …}."""
    if not isinstance(specs, dict) or 'topology' not in specs:
        return Flavor(name, NodeRequest(Grant(()), requests.understand(flavor={'extra_specs': specs})))
    if unknown := specs.keys() - {'extra_specs', 'topology', 'count'}:
        raise ValueError(f'{name} has {", ".join(sorted(map(str, unknown)))} beside its topology')
    policies, count = topology.parse(specs['topology']), specs.get('count', 1)
    if not isinstance(count, int) or count < 1 or any(policy.relative_to for policy in policies):
        raise ValueError(f'{name} needs a count of 1 or more, and a topology without relative_to')
    request = requests.understand(flavor={'extra_specs': specs.get('extra_specs')})
    return Flavor(name, NodeRequest(Grant(()), request, topology=policies), count)


def _of_flavors(counted: Sequence[capacity.Capacity]) -> Iterator[core.Metric]:
    metric = core.GaugeMetricFamily(
        'ironic_traits_flavor_nodes', 'Nodes that match the flavor.', labels=('flavor', 'use')
    )
    blocks = core.GaugeMetricFamily(
        'ironic_traits_flavor_blocks', 'Blocks of free nodes that the topology allows.', labels=('flavor',)
    )
    largest = core.GaugeMetricFamily(
        'ironic_traits_flavor_largest_block', 'Nodes in the largest such block.', labels=('flavor',)
    )
    for each in counted:
        metric.add_metric((each.name, 'free'), each.now.free)
        metric.add_metric((each.name, 'held'), each.now.held)
        metric.add_metric((each.name, 'unavailable'), sum(each.now.unavailable.values()))
        if each.blocks:
            blocks.add_metric((each.name,), each.blocks.number)
            largest.add_metric((each.name,), each.blocks.largest)
    yield from (family for family in (metric, blocks, largest) if family.samples)


def _of_promises(promises: Iterable[capacity_reservations.Kept]) -> Iterator[core.Metric]:
    metric = core.GaugeMetricFamily(
        'ironic_traits_capacity_reservation_nodes',
        'Nodes of the capacity reservation: held for it, left to it, and short, which it cannot get now.',
        labels=('name', 'use'),
    )
    for each in promises:
        for use in ('used', 'left', 'short'):
            metric.add_metric((each.name, use), getattr(each, use))
    if metric.samples:
        yield metric


#: {name: (type, description, function from a row of ``mirror_clouds.find`` to the value)}.
_MIRRORS = {
    'up': (core.GaugeMetricFamily, 'Whether the cloud is followed without errors.', _is_up),
    'lag_seconds': (core.GaugeMetricFamily, 'Seconds since all changes in the cloud were known.', mirror_clouds.lag),
    'nodes': (core.GaugeMetricFamily, 'Nodes of the cloud.', lambda row: row.nodes),
    'conflicts': (core.GaugeMetricFamily, 'What the inventory cannot have of the cloud.', lambda row: row.conflicts),
    'missing_nodes': (
        core.GaugeMetricFamily,
        'Nodes that wait for an operator, because the cloud no longer shows them.',
        lambda row: row.missing_nodes,
    ),
    'requests': (core.CounterMetricFamily, 'Requests to the cloud.', lambda row: row.requests),
    'changes': (core.CounterMetricFamily, 'Nodes and records that were written.', lambda row: row.changes),
    'write_up': (core.GaugeMetricFamily, 'Whether traits can be written to the cloud.', _can_write),
    'write_queue': (core.GaugeMetricFamily, 'Nodes to which traits are to be written.', lambda row: row.write_queue),
    'written_traits': (core.GaugeMetricFamily, 'Traits in the cloud from here.', lambda row: row.written_traits),
    'undecided_writes': (
        core.GaugeMetricFamily,
        'Trait writes whose result is not known yet.',
        lambda row: row.undecided_writes,
    ),
    'claims': (core.GaugeMetricFamily, 'Nodes that are held in the cloud from here.', lambda row: row.claims),
    'unsettled_claims': (
        core.GaugeMetricFamily,
        'Nodes that may be held on one side only.',
        lambda row: row.unsettled_claims,
    ),
    'trait_writes': (core.CounterMetricFamily, 'Traits added or removed in the cloud.', lambda row: row.trait_writes),
}


def _of_mirrors(rows: Sequence[sa.Row]) -> Iterator[core.Metric]:
    for name, (family, description, value) in _MIRRORS.items():
        metric = family(f'ironic_traits_mirror_{name}', description, labels=('cloud',))
        for row in rows:
            if value(row) is not None:
                metric.add_metric((row.name,), value(row))
        if rows:
            yield metric
