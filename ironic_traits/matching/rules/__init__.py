"""Inspection rules: their format, their checks, and their evaluation. No database, no HTTP."""
