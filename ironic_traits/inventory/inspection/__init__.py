"""The data of inspections, and the rules that run on it."""
