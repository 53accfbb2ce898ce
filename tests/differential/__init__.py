"""Generated sequences of requests to the real services and to this one, whose answers are compared."""
