"""Which nodes match a request, how many, and why not."""
