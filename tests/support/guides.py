"""The parts of a guide that tests run."""

import re

_PART = re.compile(r'^\.\. code-block:: (console|yaml)\n\n((?:   .*\n|\n(?=   ))+)', re.MULTILINE)
_COMMAND = re.compile(r'^\$ ((?:.*\\\n)*.*)\n', re.MULTILINE)


def section(path, title):
    """Return the text of a section of a page.

    :param title: of the section, which has no sections of its own.
    """
    text = re.split(r'^(.+)\n(?:=|-){3,}\n', path.read_text(), flags=re.MULTILINE)
    return text[text.index(title) + 1]


def steps(text):
    """Generate the steps that a text shows, in order.

    :returns: ('console', command, output that is shown) or ('yaml', content of a file, '').
    """
    for kind, block in _PART.findall(text):
        block = re.sub('^   ', '', block, flags=re.MULTILINE)
        if kind == 'yaml':
            yield kind, block, ''
            continue
        commands = _COMMAND.split(block)[1:]
        yield from ((kind, *step) for step in zip(commands[::2], commands[1::2], strict=True))
