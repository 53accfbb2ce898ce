"""Images that a machine boots, each of which writes its own text to the serial line and halts."""

import io

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
_SECTOR = 2048


def boot_iso(text):
    """Return an ISO image that a BIOS boots (El Torito, without emulation).

    :param text: what it writes to the serial line, less than a sector.
    """
    boot_sector = (_SEND + text.encode() + b'\r\n\0').ljust(_SECTOR, b'\0')
    image, written = pycdlib.PyCdlib(), io.BytesIO()
    image.new()
    image.add_fp(io.BytesIO(boot_sector), _SECTOR, '/BOOT.BIN;1')
    image.add_eltorito('/BOOT.BIN;1', '/BOOT.CAT;1')
    image.write_fp(written)
    image.close()
    return written.getvalue()
