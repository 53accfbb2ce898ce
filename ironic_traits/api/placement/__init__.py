"""The Placement API: HTTP in and out; no SQL in here."""
