"""The table of the figures."""

_LINE = '{:44} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9} {:>9} {:>7} {:>7}'
_HEAD = ('', 'p50', 'p99', 'CPU', 'of it DB', 'real p50', 'real p99', 'real CPU', 'time', 'CPU')


def head(count):
    """Return the head of the table of a number of nodes."""
    return f'\n{count} nodes, milliseconds; "time" and "CPU": how many times as much the real service needs\n' + (
        _LINE.format(*_HEAD)
    )


def lines(name, figures):
    """Generate the lines of a work.

    :param figures: {side: {name of a figure: value}}.
    """
    ours, real = figures['ours'], figures.get('real') or {}
    ratios = [_ratio(real, ours, figure) for figure in ('p50_ms', 'cpu_ms')]
    theirs = (_number(real.get(each)) for each in ('p50_ms', 'p99_ms', 'cpu_ms'))
    yield _LINE.format(name, *_own(ours), *theirs, *ratios)
    if floor := figures.get('floor'):
        ratios = [_ratio(ours, floor, figure) for figure in ('p50_ms', 'cpu_ms')]
        yield _LINE.format('    the floor, and ours divided by it', *_own(floor), '', '', '', *ratios)


def _own(figures):
    return [_number(figures.get(each)) for each in ('p50_ms', 'p99_ms', 'cpu_ms', 'database_cpu_ms')]


def _number(value):
    return '' if value is None else f'{value:.2f}'


def _ratio(dividend, divisor, figure):
    if not dividend.get(figure) or not divisor.get(figure):
        return ''
    return f'{dividend[figure] / divisor[figure]:.2g}'


def memory(works):
    """Return a line with the peak memory of each side, and the work in which it was reached.

    :param works: {name of a work: {side: {name of a figure: value}}}.
    """
    peaks = [
        (figures['peak_mib'], side, name)
        for name, sides in works.items()
        for side, figures in sides.items()
        if 'peak_mib' in figures
    ]
    lines = [f'{side} {peak:.0f} MiB ({name})' for peak, side, name in map(max, _by_side(peaks))]
    return f'peak memory of a process: {", ".join(lines)}'


def _by_side(peaks):
    return [[each for each in peaks if each[1] == side] for side in sorted({side for _, side, _ in peaks})]
