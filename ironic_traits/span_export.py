"""The spans that OpenTelemetry's SDK sends: of work, of its SQL statements, and of its requests to other services.

The packages opentelemetry-instrumentation-… are not used. Those for SQLAlchemy and for requests put the messages of
errors into spans, which have values of rows and query strings. The one for WSGI puts query strings there, and knows no
routes.
"""

import contextlib
import functools
import logging
import os
import re
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import requests
import sqlalchemy as sa
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExportResult
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from oslo_config import cfg

from ironic_traits.spans import Sender, Span, kind
from ironic_traits.version import version

LOG = logging.getLogger(__name__)

#: Seconds that the collector may take for a batch, and in which the last spans are sent.
_TIMEOUT, _LAST = 5, 1.5
#: Maximum number of characters of an attribute. Lists of nodes make long statements, and strangers send long paths.
_MAX_LENGTH = 4096
#: A string in a statement. Values are parameters, so it should be a constant of ours.
_STRING = re.compile(r"'(?:[^'\\]|''|\\.)*'")
_STARTED = '_ironic_traits_started'
_PROPAGATOR = TraceContextTextMapPropagator()


def begin(options: cfg.ConfigOpts.GroupAttr, program: str) -> tuple[Sender, Callable[[], None]]:
    """Begin to send spans.

    :param options: the options of [otlp].
    :returns: the function that sends a span, and the one that sends the last spans.
    """
    resource = Resource.create({'service.name': program, 'service.version': version(), 'process.pid': os.getpid()})
    limits = SpanLimits(max_span_attribute_length=_MAX_LENGTH)
    provider = TracerProvider(resource=resource, shutdown_on_exit=False, span_limits=limits)
    provider.add_span_processor(BatchSpanProcessor(_Exporter(options)))
    tracer = provider.get_tracer('ironic_traits', version())
    # All clients of other services that are used here send their requests by this method.
    requests.Session.send = _measured(tracer, requests.Session.send)  # type: ignore[method-assign]
    statements = _Statements(tracer)
    sa.event.listen(sa.Engine, 'before_cursor_execute', statements.start)
    sa.event.listen(sa.Engine, 'after_cursor_execute', statements.end)
    sa.event.listen(sa.Engine, 'handle_error', statements.fail)
    return functools.partial(_open, tracer), functools.partial(_close, provider)


def _close(provider: TracerProvider) -> None:
    # The SDK waits for half a minute if the collector does not respond.
    thread = threading.Thread(target=provider.shutdown, daemon=True)
    try:
        thread.start()
    except RuntimeError:
        # Python 3.12 starts no thread while the interpreter exits.
        provider.shutdown()
    else:
        thread.join(_LAST)


@contextlib.contextmanager
def _open(tracer: trace.Tracer, measured: Span, headers: Mapping[str, str]) -> Iterator[None]:
    """Open a span, and close it with the name and the attributes that it has by then."""
    kind_of_span = trace.SpanKind.SERVER if headers else trace.SpanKind.INTERNAL
    context = _PROPAGATOR.extract(headers) if headers else None
    opened = tracer.start_span(measured.name, context, kind_of_span)
    try:
        with trace.use_span(opened, record_exception=False, set_status_on_exception=False):
            yield
    except Exception as error:
        measured.error = kind(error)
        raise
    finally:
        opened.update_name(measured.name)
        opened.set_attributes(measured.attributes)
        if measured.error:
            _mark(opened, measured.error)
        opened.end()


def _mark(opened: trace.Span, error: str) -> None:
    opened.set_attribute('error.type', error)
    opened.set_status(trace.StatusCode.ERROR)


def _measured(tracer: trace.Tracer, send: Callable[..., requests.Response]) -> Callable[..., requests.Response]:
    """Return the method of requests.Session that sends a request, with a span of it if a span is open."""

    @functools.wraps(send)
    def measured(session: Any, request: requests.PreparedRequest, **options: Any) -> requests.Response:
        if not trace.get_current_span().is_recording():
            return send(session, request, **options)
        opened = tracer.start_span(str(request.method), kind=trace.SpanKind.CLIENT, attributes=_of_request(request))
        try:
            with trace.use_span(opened, record_exception=False, set_status_on_exception=False):
                _PROPAGATOR.inject(request.headers)
                response = send(session, request, **options)
            opened.set_attribute('http.response.status_code', response.status_code)
            if response.status_code >= 400:
                _mark(opened, str(response.status_code))
            return response
        except Exception as error:
            _mark(opened, kind(error))
            raise
        finally:
            opened.end()

    return measured


def _of_request(request: requests.PreparedRequest) -> dict[str, str]:
    """Return the attributes of a request. Its URL is without query and password."""
    return {
        'http.request.method': str(request.method),
        'server.address': str(urllib.parse.urlsplit(str(request.url)).hostname),
        'url.full': _without_secrets(str(request.url)),
    }


def _without_secrets(url: str) -> str:
    """Return a URL without user, password and query."""
    parts = urllib.parse.urlsplit(url)
    return f'{parts.scheme}://{parts.netloc.rpartition("@")[2]}{parts.path}'


class _Statements:
    """Adds spans of SQL statements to the span that is open."""

    def __init__(self, tracer: trace.Tracer) -> None:
        self._tracer = tracer

    def start(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        """Remember when a statement begins. SQLAlchemy calls this."""
        if context is not None and trace.get_current_span().is_recording():
            setattr(context, _STARTED, time.time_ns())

    def end(self, connection: Any, cursor: Any, statement: str, parameters: Any, context: Any, many: bool) -> None:
        """Add the span of a statement. SQLAlchemy calls this."""
        self._add(connection.dialect, statement, context)

    def fail(self, failure: Any) -> None:
        """Add the span of a statement that has failed. SQLAlchemy calls this."""
        if failure.statement is not None:
            error = kind(failure.original_exception)
            self._add(failure.dialect, failure.statement, failure.execution_context, error)

    def _add(self, dialect: Any, statement: str, context: Any, error: str = '') -> None:
        started = getattr(context, _STARTED, None)
        if started is None:
            return
        delattr(context, _STARTED)
        text = _text(statement)
        name = 'mariadb' if getattr(dialect, 'is_mariadb', False) else dialect.name
        attributes = {'db.system.name': name, 'db.query.text': text}
        added = self._tracer.start_span(
            text.split(maxsplit=1)[0].upper(), kind=trace.SpanKind.CLIENT, attributes=attributes, start_time=started
        )
        if error:
            _mark(added, error)
        added.end()


# Statements with many nodes are long.
@functools.lru_cache(maxsize=128)
def _text(statement: str) -> str:
    """Return a statement with placeholders for its parameters and its strings."""
    return _STRING.sub('?', statement.strip())[:_MAX_LENGTH]


class _Exporter(OTLPSpanExporter):
    """Sends spans. It logs the beginning and the end of an outage of the collector, not each batch that is lost."""

    def __init__(self, options: cfg.ConfigOpts.GroupAttr) -> None:
        url = f'{options.endpoint.rstrip("/")}/v1/traces'
        self._shown_url = _without_secrets(url)
        super().__init__(endpoint=url, headers=options.headers or None, timeout=_TIMEOUT)
        self._reasons = _Reasons()
        self._is_failing = False

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Send spans; the SDK calls this in its thread."""
        self._reasons.first = ''
        try:
            result = super().export(spans)
        except Exception as error:
            # Some releases of the SDK raise errors of connections.
            result, self._reasons.first = SpanExportResult.FAILURE, str(error)
        has_failed = result is not SpanExportResult.SUCCESS
        if has_failed and not self._is_failing:
            LOG.warning('Spans are lost until %s responds: %s', self._shown_url, self._reasons.first)
        elif self._is_failing and not has_failed:
            LOG.info('Spans are sent to %s again', self._shown_url)
        self._is_failing = has_failed
        return result


class _Reasons(logging.Handler):
    """Takes what the SDK logs, and keeps the first message of its exporter.

    Meanwhile other threads log that the queue is full, which is no reason.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = ''
        logger = logging.getLogger('opentelemetry')
        logger.propagate = False
        logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a message, if it is the first one."""
        if record.name.startswith('opentelemetry.exporter'):
            self.first = self.first or record.getMessage()
