"""A TCP proxy that can drop everything, like a broken network."""

import asyncio
import contextlib
import threading


class Proxy(threading.Thread):
    """A proxy to a port of this machine.

    :ivar port: its own port.
    :ivar connections: number of connections that it has accepted.
    """

    def __init__(self, target):
        super().__init__(daemon=True, name=f'proxy to {target}')
        self._target = target
        self._loop = asyncio.new_event_loop()
        self.port, self.connections = 0, 0
        self._waiting = set()
        self._ready = threading.Event()
        self.start()
        assert self._ready.wait(10)

    def cut(self):
        """Forward nothing from now on. Connections stay open, and new ones are accepted."""
        self._loop.call_soon_threadsafe(self._open.clear)

    def drop(self):
        """Close the connections that were accepted during the cut."""
        self._loop.call_soon_threadsafe(lambda: [writer.transport.abort() for writer in self._waiting])

    def join_again(self):
        """Forward everything again."""
        self._loop.call_soon_threadsafe(self._open.set)

    def end(self):
        """Close everything."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def run(self):
        """Serve."""
        asyncio.set_event_loop(self._loop)
        self._open = asyncio.Event()
        self._open.set()
        server = self._loop.run_until_complete(asyncio.start_server(self._connect, '127.0.0.1', 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()

    async def _connect(self, reader, writer):
        self.connections += 1
        self._waiting.add(writer)
        await self._open.wait()
        self._waiting.discard(writer)
        if writer.is_closing():
            return
        try:
            other_reader, other_writer = await asyncio.open_connection('127.0.0.1', self._target)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pass(reader, other_writer), self._pass(other_reader, writer))

    async def _pass(self, reader, writer):
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                await self._open.wait()
                writer.write(data)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()
