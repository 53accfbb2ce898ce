"""A WSGI server on the loopback interface, for the other services that the tests run."""

import gc
import os
import pathlib
import signal
import socketserver
import sys
from wsgiref import simple_server

from sqlalchemy import event
from sqlalchemy.engine import Engine


class Threaded(socketserver.ThreadingMixIn, simple_server.WSGIServer):
    """A server that answers several requests at once."""

    daemon_threads = True


def run(main):
    """Call a function with DIRECTORY and PORT of the command line, without garbage collection until it serves."""
    gc.disable()
    event.listen(Engine, 'before_cursor_execute', _begin_immediate, retval=True)
    main(pathlib.Path(sys.argv[1]), int(sys.argv[2]))


def _begin_immediate(connection, cursor, statement, parameters, context, executemany):
    """Begin each transaction of SQLite as a writer, which waits for others.

    If a reader becomes a writer while another one writes, SQLite says at once that the database is locked.
    """
    return 'BEGIN IMMEDIATE' if statement == 'BEGIN' else statement, parameters


def serve(application, port, server_class=Threaded):
    """Serve an application until SIGTERM.

    Print "listening" when it is ready: ``tests.support.peers.peer`` waits for that.

    :param server_class: Threaded, or simple_server.WSGIServer for one request at a time.
    """
    server = simple_server.make_server('127.0.0.1', port, application, server_class)
    # End at once: Python would take most of a second to free all modules.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    gc.freeze()
    gc.enable()
    print('listening', flush=True)
    server.serve_forever()
