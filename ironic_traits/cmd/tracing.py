"""The beginning and the end of sending spans, which each process does once."""

import contextlib
import importlib
import threading
from collections.abc import Callable, Iterator

from oslo_config import cfg

from ironic_traits import extras, spans

#: Modules of the libraries that are needed.
_MODULES = ('opentelemetry.sdk.trace', 'opentelemetry.exporter.otlp.proto.http')
#: Imported late, because it needs these.
_EXPORT = 'ironic_traits.span_export'
_LOCK = threading.Lock()
_CLOSE: list[Callable[[], None]] = []


def check(conf: cfg.ConfigOpts) -> None:
    """Raise oslo.config's Error if spans are to be sent, and a library for that is not installed."""
    if not conf.otlp.endpoint:
        return
    if problem := extras.missing('otlp', *_MODULES):
        raise cfg.Error(f'[otlp] endpoint cannot be used: {problem}')
    # Processes that are forked later need not do this.
    importlib.import_module(_EXPORT)


def begin(conf: cfg.ConfigOpts, program: str) -> None:
    """Send spans from now on, if ``[otlp] endpoint`` is set. A thread sends them, so call this after a fork.

    :param program: name of the program, by which its spans are found.
    """
    if conf.otlp.endpoint:
        spans.PROCESS.send, close = importlib.import_module(_EXPORT).begin(conf.otlp, program)
        _CLOSE.append(close)


def end() -> None:
    """Send the last spans. If the collector does not respond, this ends after a moment."""
    with _LOCK:
        while _CLOSE:
            _CLOSE.pop()()


@contextlib.contextmanager
def sending(conf: cfg.ConfigOpts, program: str) -> Iterator[None]:
    """Send the spans of the block; the arguments are those of ``begin``."""
    begin(conf, program)
    try:
        yield
    finally:
        end()
