"""Tables of pages of the documentation, which programs write."""

_END = '.. End of the table.'


def replaced(text, mark, rows):
    """Return the text of a page with other rows in one of its tables.

    :param mark: the comment before the table.
    :param rows: [[text of a cell, …], …], of which the first one has the headings.
    """
    lines = ['.. list-table::', '   :header-rows: 1', '']
    for row in rows:
        lines += [f'   {"  -" if number else "* -"} {cell}' for number, cell in enumerate(row)]
    before, rest = text.split(mark, 1)
    return '\n'.join([f'{before}{mark}', '', *lines, '', _END]) + rest.split(_END, 1)[1]
