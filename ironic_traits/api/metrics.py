"""/metrics: what the service does and has, in numbers, in the format of Prometheus.

What is counted in one process is added up over all that share PROMETHEUS_MULTIPROC_DIR; what the database knows it is
asked for by whoever answers.
"""

import contextlib
import functools
import logging
import os
import pathlib
import time

import prometheus_client
import sqlalchemy as sa
from oslo_db import exception as db_exception
from prometheus_client import core, multiprocess, registry

from ironic_traits.api import protocols
from ironic_traits.api.resource import METHODS, ROUTE
from ironic_traits.db import outage
from ironic_traits.inventory import counts, workers
from ironic_traits.version import version

LOG = logging.getLogger(__name__)

#: Seconds; a page of 1,000 nodes is in the middle.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10)
_METHODS = frozenset({*METHODS, 'HEAD', 'OPTIONS'})
_SHARED = 'PROMETHEUS_MULTIPROC_DIR'
_RESERVE = ('POST', '/v1/reservations', '409')


class Metrics:
    """A WSGI layer that counts what goes through it, and answers /metrics.

    :param inside: WSGI application.
    :param service: ironic_traits.service.Service.
    :ivar service: the same.
    """

    def __init__(self, inside, service):
        self._inside = inside
        self.service = service
        self._registry = own = registry.CollectorRegistry()
        asked = ('api', 'method', 'route')
        self._requests = prometheus_client.Counter(
            'ironic_traits_requests', 'Requests that were answered.', (*asked, 'status'), registry=own
        )
        self._seconds = prometheus_client.Histogram(
            'ironic_traits_request_seconds', 'Seconds until the answer.', asked, registry=own, buckets=_BUCKETS
        )
        self._refused = prometheus_client.Counter(
            'ironic_traits_reservations_refused', 'Reservations that were refused.', registry=own
        )
        _watch_connections(service.database, own)

    def __call__(self, environ, start_response):
        if environ['PATH_INFO'] == '/metrics':
            return self._show(environ, start_response)
        begun = time.monotonic()
        told = []

        def start(status, headers, exc_info=None):
            told.append(status[:3])
            return start_response(status, headers, exc_info)

        answer = self._inside(environ, start)
        self._count(environ, told[-1], time.monotonic() - begun)
        return answer

    def _count(self, environ, status, seconds):
        api = protocols.of(self.service.conf, environ['PATH_INFO']).name
        method = environ['REQUEST_METHOD']
        # Whatever clients make up is one: each value is kept for good.
        route = environ.get(ROUTE, 'none')
        method = method if ROUTE in environ and method in _METHODS else 'any'
        self._requests.labels(api, method, route, status).inc()
        self._seconds.labels(api, method, route).observe(seconds)
        if (method, route, status) == _RESERVE:
            self._refused.inc()

    def _show(self, environ, start_response):
        counted = self._registry
        if _SHARED in os.environ:
            _forget_ended_processes(os.environ[_SHARED])
            counted = registry.CollectorRegistry()
            multiprocess.MultiProcessCollector(counted)
        shown = registry.CollectorRegistry()
        shown.register(counted)
        shown.register(_Counts(self.service))
        return prometheus_client.make_wsgi_app(shown)(environ, start_response)


def _watch_connections(database, own):
    """Count the connections to the database: those that there are, and those in use."""
    for name, told, (more, fewer) in (
        ('open', 'Connections to the database.', ('connect', 'close')),
        ('in_use', 'Connections to the database that somebody works with.', ('checkout', 'checkin')),
    ):
        gauge = prometheus_client.Gauge(
            *(f'ironic_traits_database_connections_{name}', told, ('engine',)),
            registry=own,
            multiprocess_mode='livesum',
        )
        for engine, pool in database.pools().items():
            sa.event.listen(pool, more, functools.partial(_more, gauge.labels(engine), name))
            sa.event.listen(pool, fewer, functools.partial(_fewer, gauge.labels(engine), name))


def _more(gauge, name, connection, record, *event):
    record.record_info[name] = True
    gauge.inc()


def _fewer(gauge, name, connection, record, *event):
    # Of a connection that could not be made again only the end is told.
    if record.record_info.pop(name, False):
        gauge.dec()


def _forget_ended_processes(folder):
    """Forget what processes had that are no more; what they have counted stays."""
    for path in pathlib.Path(folder).glob('gauge_live*_*.db'):
        pid = int(path.stem.rpartition('_')[2])
        if not pathlib.Path(f'/proc/{pid}').exists():
            # Who else is asked at the same time does the same.
            with contextlib.suppress(FileNotFoundError):
                multiprocess.mark_process_dead(pid, folder)


class _Counts:
    """Asks the database, each time that the metrics are shown."""

    def __init__(self, service):
        self._service = service

    def collect(self):
        """Yield the version, and the metrics that the database knows: none of these when it does not answer."""
        yield core.InfoMetricFamily('ironic_traits_build', 'This release.', {'version': version()})
        try:
            by_state, by_life = counts.nodes_by_state(self._service), counts.reservations_by_life(self._service)
            alive, waiting = workers.alive(self._service), workers.longest_wait(self._service)
        except (db_exception.DBError, sa.exc.SQLAlchemyError) as error:
            if not outage.is_one(error):
                LOG.exception('The database could not be asked for metrics')
            return
        found = core.GaugeMetricFamily('ironic_traits_nodes', 'Nodes.', labels=('provision_state', 'maintenance'))
        for row in by_state:
            found.add_metric((row.provision_state, str(bool(row.maintenance)).lower()), row.number)
        yield found
        held = core.GaugeMetricFamily('ironic_traits_reservations', 'Reservations.', labels=('life',))
        for life, number in by_life.items():
            held.add_metric((life,), number)
        yield held
        yield core.GaugeMetricFamily('ironic_traits_workers', 'Workers that are alive.', value=alive)
        yield core.GaugeMetricFamily(
            'ironic_traits_work_waiting_seconds', 'Seconds that the oldest work without a worker is due.', value=waiting
        )
