"""The description of both APIs in OpenAPI 3.1, one document per version, which ``/openapi.json`` returns.

It is derived from what the service itself uses: the controllers and their decorators, WSME types, JSON schemas,
the tables of fields in ``ironic_traits.resources``, policy rules and failures.
"""
