"""Spans: how long work takes, and what it waits for. OpenTelemetry collects them (``[otlp] endpoint``).

``span`` measures a piece of work. The SQL statements and the requests to other services in it are its children
(``ironic_traits/span_export.py``). Nothing is measured unless ``ironic_traits/cmd/tracing.py`` has begun to send spans.

No value of a parameter, no body and no header is in a span. Messages of exceptions have values, so they are left out.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping

#: Attributes of a span.
Attributes = Mapping[str, str | int]


class Span:
    """A piece of work.

    :ivar name: what it is.
    :ivar attributes: what is known of it, {name: value}.
    :ivar error: the kind of error with which it ends; '' for none.
    """

    def __init__(self, name: str, attributes: Attributes) -> None:
        self.name, self.attributes, self.error = name, dict(attributes), ''


#: A function that sends a span: (Span, headers of the request) to a context manager.
Sender = Callable[[Span, Mapping[str, str]], contextlib.AbstractContextManager[None]]


class _Process:
    """What this process does with spans.

    :ivar send: None if they are not sent.
    """

    send: Sender | None = None


PROCESS = _Process()


@contextlib.contextmanager
def span(name: str, attributes: Attributes, headers: Mapping[str, str] | None = None) -> Iterator[Span]:
    """Measure the block, which may change the span until it ends.

    :param headers: headers of the request that is answered, which may name the span of its client; None if the block
        answers no request.
    """
    measured = Span(name, attributes)
    if PROCESS.send is None:
        yield measured
        return
    with PROCESS.send(measured, headers or {}):
        yield measured


def kind(error: object) -> str:
    """Return the name of the kind of an error."""
    return type(error).__name__
