"""The mutation score: changes of the code that decides, which the tests must notice. ``tox -e mutation``."""
