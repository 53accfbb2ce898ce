"""Texts for terminals."""


def printable(text: str) -> str:
    """Return a text without control characters: inventories may contain those that change the terminal."""
    return ''.join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
