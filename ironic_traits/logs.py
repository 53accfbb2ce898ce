"""How the service logs."""

import logging
import re
import sys

from oslo_log import log

from ironic_traits.version import version

#: What a client could begin a new line with, or drive a terminal with.
_CONTROL = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029]')


def setup(conf):
    """Log as the configuration says; no record has more than one line, tracebacks aside.

    :param conf: ConfigOpts.
    :raises OSError: the log file cannot be written.
    :raises oslo_log.log.LogConfigError: the file that configures logging cannot be used.
    """
    log.setup(conf, 'ironic_traits', version())
    for handler in logging.getLogger().handlers:
        handler.addFilter(one_line)


def one_line(record):
    """Escape control characters in a record's message: what a client sent may be in it.

    :param record: logging.LogRecord.
    :returns: True, as a filter that lets everything through.
    """
    message = record.getMessage()
    if _CONTROL.search(message):
        record.msg, record.args = escaped(message), ()
    return True


def escaped(text):
    """Return a text with its control characters as escape sequences."""
    return _CONTROL.sub(lambda match: match[0].encode('unicode_escape').decode(), text)


def destinations():
    """Return where the log goes to, for people."""
    return ', '.join(map(_destination, logging.getLogger().handlers)) or 'nowhere'


def on_stderr():
    """Whether log records are visible on stderr."""
    return any(getattr(handler, 'stream', None) is sys.stderr for handler in logging.getLogger().handlers)


def _destination(handler):
    if isinstance(handler, logging.FileHandler):
        return handler.baseFilename
    if isinstance(handler, logging.StreamHandler):
        return {sys.stderr: 'stderr', sys.stdout: 'stdout'}.get(handler.stream, 'a stream')
    return {'OSSysLogHandler': 'syslog', 'OSJournalHandler': 'the journal'}.get(
        type(handler).__name__, type(handler).__name__
    )
