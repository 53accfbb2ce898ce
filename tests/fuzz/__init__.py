"""The search for requests that the service does not handle: ``python -m tests.fuzz``, or ``tox -e fuzz``."""
