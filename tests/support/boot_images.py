"""Images that a machine boots, each of which writes its own text to the serial line and halts."""

import contextlib
import functools
import io
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pycdlib

#: The start of a boot sector for the BIOS. It sends the text that follows to COM1, character by character, and halts.
_SEND = bytes.fromhex(
    'fa fc'  # cli; cld
    'e8 00 00 5e 83 c6 1e'  # call next; next: pop si; add si, text - next
    '2e ac 84 c0 74 11 88 c4'  # send: cs lodsb; test al, al; jz halt; mov ah, al
    'ba fd 03 ec a8 20 74 fb'  # mov dx, 0x3fd; wait: in al, dx; test al, 0x20; jz wait
    'b2 f8 88 e0 ee eb e9'  # mov dl, 0xf8; mov al, ah; out dx, al; jmp send
    'f4 eb fd'  # halt: hlt; jmp halt
)
_CD_SECTOR, _DISK_SECTOR = 2048, 512


def _sector(text):
    return _SEND + text.encode() + b'\r\n\0'


def boot_disk(text):
    """Return the content of a small disk that a BIOS boots.

    :param text: what it writes to the serial line, less than a sector.
    """
    return (_sector(text).ljust(_DISK_SECTOR - 2, b'\0') + b'\x55\xaa').ljust(2**20, b'\0')


def boot_iso(text):
    """Return an ISO image that a BIOS boots (El Torito, without emulation).

    :param text: what it writes to the serial line, less than a sector.
    """
    image, written = pycdlib.PyCdlib(), io.BytesIO()
    image.new()
    image.add_fp(io.BytesIO(_sector(text).ljust(_CD_SECTOR, b'\0')), _CD_SECTOR, '/BOOT.BIN;1')
    image.add_eltorito('/BOOT.BIN;1', '/BOOT.CAT;1')
    image.write_fp(written)
    image.close()
    return written.getvalue()


class ImageServer(ThreadingHTTPServer):
    """A server of the files of a folder.

    :ivar url: of the folder.
    :ivar requests: requests so far: [(method, path), …].
    """

    def __init__(self, folder):
        super().__init__(('127.0.0.1', 0), functools.partial(_Handler, directory=folder))
        self.url, self.requests = f'http://127.0.0.1:{self.server_port}', []

    def fetched(self, name):
        """Return how often a file was fetched."""
        return self.requests.count(('GET', f'/{name}'))


class _Handler(SimpleHTTPRequestHandler):
    def log_request(self, *arguments):
        self.server.requests.append((self.command, self.path))

    def log_message(self, *arguments):
        pass


@contextlib.contextmanager
def serving_images(folder):
    """Serve the files of a folder by HTTP, and yield the ImageServer."""
    with ImageServer(folder) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
