"""Clients that write while processes, databases and networks fail, and a check that nothing was lost.

``clients`` sends requests and records them (``history``). ``faults`` breaks things in an order that follows from a
seed. ``checker`` compares the record with the stored data at the end. ``broken`` has builds of the service with a bug,
which the checker must notice. ``python -m tests.chaos`` runs it for minutes, and writes the table of
doc/source/reliability.rst.
"""
