"""The traits of nodes: who holds them, edits, and the catalogue."""
