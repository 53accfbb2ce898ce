"""What speaks HTTP.  No SQL in here."""
