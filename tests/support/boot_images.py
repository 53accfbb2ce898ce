"""Images that a machine boots, each of which writes its own text to the serial line and halts."""

import functools
import io
import struct
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pycdlib

from tests.support import http_servers

#: Machine code that sends the text after it to COM1, character by character, and halts: for the BIOS, and for UEFI.
_BIOS, _UEFI = (
    bytes.fromhex(
        f'fa fc {load}'  # cli; cld, and what follows sets si to the text; send: lodsb
        f'84 c0 74 {end} 88 c4'  # test al, al; jz halt; mov ah, al
        f'{port} ec a8 20 74 fb'  # mov dx, 0x3fd; wait: in al, dx; test al, 0x20; jz wait
        'b2 f8 88 e0 ee eb e9'  # mov dl, 0xf8; mov al, ah; out dx, al; jmp send
        'f4 eb fd'  # halt: hlt; jmp halt
    )
    for load, end, port in (
        ('e8 00 00 5e 83 c6 1e 2e ac', '11', 'ba fd 03'),  # call next; next: pop si; add si, text - next; cs lodsb
        ('48 8d 35 1a 00 00 00 ac', '12', '66 ba fd 03'),  # lea rsi, [rip + text]; lodsb
    )
)
_SECTOR, _CD_SECTOR = 512, 2048
#: It is before each text. UEFI writes to the serial line, too.
MARK = '>>> '


def boot_disk(text):
    """Return the content of a small disk that a BIOS boots.

    :param text: what it writes to the serial line, at most 400 characters.
    """
    return (_program(_BIOS, text).ljust(_SECTOR - 2, b'\0') + b'\x55\xaa').ljust(2**20, b'\0')


def boot_iso(text):
    """Return an ISO image that a BIOS or UEFI boots (El Torito, without emulation).

    :param text: what it writes to the serial line, at most 400 characters. "by BIOS" or "by UEFI" follows.
    """
    image, written = pycdlib.PyCdlib(), io.BytesIO()
    image.new()
    bios = _program(_BIOS, f'{text} by BIOS').ljust(_CD_SECTOR, b'\0')
    uefi = _fat(_application(_program(_UEFI, f'{text} by UEFI')))
    for name, content, is_uefi in (('/BIOS.BIN;1', bios, False), ('/UEFI.IMG;1', uefi, True)):
        image.add_fp(io.BytesIO(content), len(content), name)
        image.add_eltorito(name, '/BOOT.CAT;1', efi=is_uefi)
    image.write_fp(written)
    image.close()
    return written.getvalue()


def iso_files(image):
    """Return the label of an ISO image, and its files, {path: content}. Its two kinds of long names must agree."""
    reader, found = pycdlib.PyCdlib(), []
    reader.open_fp(io.BytesIO(image))
    for names in (reader.get_rock_ridge_facade(), reader.get_joliet_facade()):
        contents = {}
        for path in [f'{folder}/{name}' for folder, _, files in names.walk('/') for name in files]:
            names.get_file_from_iso_fp(content := io.BytesIO(), path)
            contents[path] = content.getvalue()
        found.append(contents)
    label = reader.pvd.volume_identifier.decode().rstrip()
    reader.close()
    assert found[0] == found[1]
    return label, found[0]


def _program(code, text):
    return code + f'{MARK}{text}\r\n\0'.encode()


def _application(program):
    """Return an application of UEFI (PE32+): a sector of headers, and one with the program."""
    size = _SECTOR
    dos = b'MZ'.ljust(0x3C, b'\0') + struct.pack('<I', 0x40)
    # The processor is x86-64, there is one section, 112 bytes follow, and the file is executable.
    coff = struct.pack('<4sHHIIIHH', b'PE', 0x8664, 1, 0, 0, 0, 112, 0x22)
    sizes = struct.pack('<HHIIIII', 0x20B, 0, size, 0, 0, size, size)
    # It can be anywhere in memory. It is an application of UEFI (10), and has no directories.
    rest = struct.pack('<QIIHHHHHHIIIIHHQQQQII', 0, size, size, *[0] * 6, 0, 2 * size, size, 0, 10, 0, *[0] * 4, 0, 0)
    section = struct.pack('<8sIIIIIIHHI', b'.text', size, size, size, size, 0, 0, 0, 0, 0x60000020)
    return (dos + coff + sizes + rest + section).ljust(size, b'\0') + program.ljust(size, b'\0')


def _fat(application):
    """Return a FAT12 file system with /EFI/BOOT/BOOTX64.EFI.

    A cluster is a sector. The first clusters, 2 and 3, have the directories; those of the file follow.
    """
    sectors = 64
    boot = struct.pack('<3s8sHBHBHHBHHHI', b'\xeb\xfe\x90', b'', _SECTOR, 1, 1, 1, 16, sectors, 0xF8, 1, 1, 1, 0)
    last = 0xFFF
    chain = [0xFF8, last, last, last, *range(5, 4 + len(application) // _SECTOR), last]
    table = sum(cluster << (12 * number) for number, cluster in enumerate(chain)).to_bytes(_SECTOR, 'little')

    def entry(name, attributes, cluster, size=0):
        return struct.pack('<11sB14xHI', name, attributes, cluster, size).ljust(_SECTOR, b'\0')

    directories = entry(b'EFI        ', 0x10, 2) + entry(b'BOOT       ', 0x10, 3)
    file = entry(b'BOOTX64 EFI', 0x20, 4, len(application))
    start = boot.ljust(_SECTOR - 2, b'\0') + b'\x55\xaa'
    return (start + table + directories + file + application).ljust(sectors * _SECTOR, b'\0')


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


def serving_images(folder):
    """Return a context manager that serves the files of a folder by HTTP, and yields the ImageServer."""
    return http_servers.serving(ImageServer(folder))
