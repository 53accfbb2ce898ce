"""Texts for people."""


def printable(text: str) -> str:
    """Return a text without control characters: inventories may contain those that change the terminal."""
    return ''.join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def count(number: int, noun: str = 'node') -> str:
    """Return a number of things as text, such as '1 node' or '2 nodes'."""
    return f'{number} {noun}{"" if number == 1 else "s"}'
