"""Allocation candidates: which providers can serve a request, and why not."""
