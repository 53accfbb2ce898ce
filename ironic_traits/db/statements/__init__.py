"""Parts of SQL statements that all databases understand."""
