"""Races of writers, one statement at a time.

Each writer is a request in a thread. It stops before each statement, COMMIT and ROLLBACK, and a schedule decides which
writer continues (``scheduler``). The responses and the stored data must be those of the same writers one after another,
in some order (``races``). A schedule that fails can be run again. ``writers`` has the requests.

``python -m tests.races --help`` shows the long form.
"""
