"""The search for requests that the service handles wrongly: ``python -m tests.fuzz``, or ``tox -e fuzz``."""
