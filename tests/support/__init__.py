"""What the tests stand on: clients, servers, databases, models."""
