"""This service beside the real Ironic and Placement: python -m benchmarks.compare (see benchmarks/README.rst)."""
