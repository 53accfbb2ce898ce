"""HTTP servers of the tests themselves."""

import contextlib
import threading


@contextlib.contextmanager
def serving(server):
    """Run a server in a thread during the block, and yield it."""
    with server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
