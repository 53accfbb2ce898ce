"""The support code of the tests: clients, servers, databases, models."""
