"""The worker: performs the provision state changes of nodes, and keeps the database tidy."""
