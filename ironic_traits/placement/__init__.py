"""What the service does for resource providers, as plain functions; no HTTP in here."""
