"""The database: its tables, its engines, its migrations."""
