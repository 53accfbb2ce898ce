"""Logging of the service."""

import logging
import sys

from oslo_config import cfg
from oslo_log import log

from ironic_traits.printing import printable
from ironic_traits.version import version


def setup(conf: cfg.ConfigOpts) -> None:
    """Configure logging. Each record is one line, apart from tracebacks.

    :raises OSError: the log file cannot be written.
    :raises oslo_log.log.LogConfigError: the file in ``log_config_append`` cannot be used.
    """
    log.setup(conf, 'ironic_traits', version())
    for handler in logging.getLogger().handlers:
        handler.addFilter(is_no_interrupt)
        handler.addFilter(one_line)


def is_no_interrupt(record: logging.LogRecord) -> bool:
    """Whether a record is about something else than Ctrl-C: a logging filter.

    When the close of a connection fails, SQLAlchemy logs the exception with a traceback, even that of Ctrl-C.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], KeyboardInterrupt))


def one_line(record: logging.LogRecord) -> bool:
    """Escape control characters in a record's message, because it may contain text from a client.

    :returns: True: as a logging filter, it drops no record.
    """
    message = record.getMessage()
    if not message.isprintable():
        record.msg, record.args = printable(message), ()
    return True


def destinations() -> str:
    """Return the destinations of the log, as text for the banner."""
    return ', '.join(map(_destination, logging.getLogger().handlers)) or 'nowhere'


def on_stderr() -> bool:
    """Whether log records are visible on stderr."""
    return any(getattr(handler, 'stream', None) is sys.stderr for handler in logging.getLogger().handlers)


def _destination(handler: logging.Handler) -> str:
    if isinstance(handler, logging.FileHandler):
        return handler.baseFilename
    if isinstance(handler, logging.StreamHandler):
        return {sys.stderr: 'stderr', sys.stdout: 'stdout'}.get(handler.stream, 'a stream')
    return {'OSSysLogHandler': 'syslog', 'OSJournalHandler': 'the journal'}.get(
        type(handler).__name__, type(handler).__name__
    )
