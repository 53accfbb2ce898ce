"""Plots of the figures against the number of nodes: python -m benchmarks.compare.plots FILE.json

It writes latency.svg and cpu.svg next to the file. It needs matplotlib (``pip install '.[benchmarks]'``).
"""

import json
import math
import pathlib
import sys

_COLUMNS = 4
#: Side: label and colour.
_SIDES = {
    'ours': ('this service', '#1f5fa8'),
    'real': ('Ironic, Placement', '#c2410c'),
    'floor': ('bare statement and orjson', '#6b7280'),
}
_FIGURES = {
    'latency': ('p50_ms', 'median latency, ms'),
    'cpu': ('cpu_ms', 'CPU of service and database, ms'),
}


def draw(path):
    """Draw the figures of a JSON file that ``benchmarks.compare`` has written."""
    import matplotlib as mpl

    mpl.use('svg')
    # Keep text as text, and make the files reproducible.
    mpl.rcParams |= {'svg.fonttype': 'none', 'svg.hashsalt': 'benchmarks', 'font.size': 8}
    results = json.loads(path.read_text())
    for name, (figure, label) in _FIGURES.items():
        _grid(results, figure, label).savefig(path.with_name(f'{name}.svg'), metadata={'Date': None})


def _grid(results, figure, label):
    """Return a figure with a small plot of each work."""
    from matplotlib.figure import Figure

    works = list(dict.fromkeys(name for size in results['sizes'].values() for name in size['works']))
    rows = math.ceil(len(works) / _COLUMNS)
    grid = Figure(figsize=(3 * _COLUMNS, 2.2 * rows), layout='constrained')
    plots = grid.subplots(rows, _COLUMNS, sharex=True, squeeze=False).flat
    for plot, work in zip(plots, works, strict=False):
        _draw(plot, work, results['sizes'], figure)
    for plot in list(plots)[len(works) :]:
        plot.set_axis_off()
    lines = [line for plot in grid.axes for line in plot.get_lines()]
    legend = {line.get_label(): line for line in lines}
    grid.legend(legend.values(), legend.keys(), loc='outside upper center', ncols=len(_SIDES), frameon=False)
    grid.supxlabel('nodes')
    grid.supylabel(label)
    return grid


def _draw(plot, work, sizes, figure):
    from matplotlib.ticker import EngFormatter

    for side, (label, colour) in _SIDES.items():
        figures = {int(size): each['works'].get(work, {}).get(side, {}).get(figure) for size, each in sizes.items()}
        points = sorted((size, value) for size, value in figures.items() if value)
        if points:
            plot.plot(*zip(*points, strict=True), marker='o', markersize=3, linewidth=1.2, color=colour, label=label)
    plot.set_title(work, fontsize=8)
    plot.set_xscale('log')
    plot.set_yscale('log')
    # Whole decades, so that the plots can be compared.
    low, high = plot.get_ylim()
    plot.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
    plot.minorticks_off()
    plot.xaxis.set_major_formatter(EngFormatter(sep=''))
    plot.yaxis.set_major_formatter('{x:,.10g}')
    plot.grid(visible=True, which='major', linewidth=0.3)


if __name__ == '__main__':
    draw(pathlib.Path(sys.argv[1]))
