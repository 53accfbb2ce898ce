"""The database: tables, engines, migrations."""
