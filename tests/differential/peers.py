"""Real services as processes that answer sequences of requests over pipes, and this service with the same interface."""

import contextlib
import json
import logging
import os
import sqlite3
import subprocess
import sys

from webob import Request


def send(application, request):
    """Send a request to a WSGI application, and return its answer, {'status', 'headers', 'text'}.

    :param request: [method, path, headers, body or None].
    """
    method, path, headers, body = request
    made = Request.blank(path, method=method, headers={'Accept': 'application/json'} | headers)
    if body is not None:
        made.body = body.encode()
        made.headers.setdefault('Content-Type', 'application/json')
        made.content_type = made.content_type or 'application/json'
    try:
        response = made.get_response(application)
    except Exception as error:
        # A server answers with 500.
        return {'status': 500, 'headers': {}, 'text': repr(error)}
    return {'status': response.status_int, 'headers': dict(response.headers), 'text': response.body.decode()}


def answer_lines(application, database, refresh=lambda: None):
    """Answer requests: each line of the input has some, and each line of the output their answers.

    A line without requests ends a sequence: the first one saves the objects, and all others restore them.

    :param database: path of the SQLite file.
    :param refresh: function to call after each sequence.
    """
    logging.disable(logging.CRITICAL)
    output = os.fdopen(os.dup(1), 'w')
    # What a library prints does not go between the answers.
    os.dup2(2, 1)
    print('listening', file=output, flush=True)
    saved = Saved(database)
    for requests in map(json.loads, sys.stdin):
        if not requests:
            saved.reset()
            refresh()
        answers = [send(application, request) for request in requests]
        print(json.dumps(answers), file=output, flush=True)


class Saved:
    """The content of a SQLite database, saved once.

    :param path: of its file.
    """

    def __init__(self, path):
        self._path = path
        self._saved = sqlite3.connect(':memory:')
        self._is_saved = False

    def reset(self):
        """Save the content, or restore it if it is saved."""
        self._copy(self._saved.backup if self._is_saved else lambda database: database.backup(self._saved))
        self._is_saved = True

    def _copy(self, backup):
        with contextlib.closing(sqlite3.connect(self._path, timeout=30)) as database:
            backup(database)


class Peer:
    """A real service.

    :param module: the module to run.
    :param directory: empty directory for its data.
    """

    def __init__(self, module, directory):
        command = [sys.executable, '-W', 'ignore', '-m', module, str(directory)]
        self._log = open(os.path.join(directory, 'stderr'), 'w')  # noqa: SIM115 (as long as the process)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, text=True)
        # Libraries may print something before.
        while (line := self._process.stdout.readline()) != 'listening\n':
            line or self._fail()

    def answers(self, requests):
        """Return the answers to some requests."""
        self.ask(requests)
        return self.read()

    def ask(self, requests):
        """Send some requests."""
        self._process.stdin.write(json.dumps(requests) + '\n')
        self._process.stdin.flush()

    def read(self):
        """Return the answers to the requests that were sent."""
        line = self._process.stdout.readline()
        return json.loads(line) if line else self._fail()

    def reset(self):
        """End a sequence of requests: save the objects after the first one, and restore them after all others."""
        self.answers([])

    def _fail(self):
        with open(self._log.name) as log:
            raise RuntimeError(f'The real service has ended: {log.read()[-2000:]}')

    def stop(self):
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._log.close()
