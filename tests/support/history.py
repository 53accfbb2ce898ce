"""Reads the history of nodes."""


def entries(client, node=None):
    """Return the history, all fields: of one node, or of all."""
    return client.get('/v1/history' + (f'?node={node}' if node else ''))['history']
