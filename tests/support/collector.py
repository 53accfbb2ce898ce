"""A collector of OpenTelemetry, which keeps the spans that it gets (OTLP/HTTP)."""

import http.server
import threading
import time

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2


class Collector(http.server.ThreadingHTTPServer):
    """A running collector.

    :ivar spans: [{'name', 'id', 'parent', 'trace', 'kind', 'is_error', 'program', and the attributes}, …].
    :ivar bodies: the requests as they came.
    :ivar headers: the headers of the last request.
    :ivar status: status of its responses.
    """

    daemon_threads = True

    def __init__(self, port=0):
        super().__init__(('127.0.0.1', port), _Handler)
        self.url = f'http://127.0.0.1:{self.server_port}'
        self.spans, self.bodies, self.headers, self.status = [], [], {}, 200

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exception):
        self.shutdown()
        self.server_close()

    def wait_for(self, name, number=1):
        """Wait until there are spans of a name, and return the last of these."""
        deadline = time.monotonic() + 60
        while len(self.named(name)) < number:
            assert time.monotonic() < deadline, sorted({span['name'] for span in self.spans})
            time.sleep(0.02)
        return self.named(name)[-1]

    def named(self, name):
        """Return the spans of a name."""
        return [span for span in self.spans if span['name'] == name]

    def children(self, parent):
        """Return the spans whose parent is a span."""
        return [span for span in self.spans if span['parent'] == parent['id']]

    def take(self, path, headers, body):
        """Keep the spans of a request."""
        assert path == '/v1/traces'
        self.headers = headers
        self.bodies.append(body)
        request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
        for resource in request.resource_spans:
            program = _values(resource.resource.attributes)
            for scope in resource.scope_spans:
                self.spans += [_span(span, program) for span in scope.spans]


def _span(span, program):
    ids = {'id': span.span_id.hex(), 'parent': span.parent_span_id.hex(), 'trace': span.trace_id.hex()}
    about = {'name': span.name, 'kind': span.kind, 'is_error': span.status.code == 2, 'events': len(span.events)}
    about |= {'message': span.status.message}
    return ids | about | {'program': program['service.name'], 'pid': program['process.pid']} | _values(span.attributes)


def _values(attributes):
    return {each.key: getattr(each.value, each.value.WhichOneof('value')) for each in attributes}


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'

    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        if self.server.status == 200:
            self.server.take(self.path, self.headers, body)
        self.send_response(self.server.status)
        self.send_header('Content-Length', '0')
        self.end_headers()

    def log_message(self, *arguments):
        """Print nothing."""
