"""Resource providers, inventories and allocations: plain functions that return rows, without HTTP."""
