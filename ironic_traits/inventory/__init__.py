"""What the service does for nodes and their traits: plain functions, rows out, no HTTP."""
