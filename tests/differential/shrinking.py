"""The shortest sequence that shows a difference."""

from tests.differential import runs


def shortest(requests, kind, differs):
    """Return the fewest of the requests that still show a difference in the last one.

    :param differs: function that returns the kinds of differences of the last one of some requests.
    """
    kept = list(requests)
    size = max(1, (len(kept) - 1) // 2)
    while size:
        begin = 0
        while begin < len(kept) - 1:
            rest = kept[:begin] + kept[min(begin + size, len(kept) - 1) :]
            if kind in differs(rest):
                kept = rest
            else:
                begin += size
        size //= 2
    return kept


def shrink(run, figures, number):
    """Replace the examples of the most frequent kinds of differences by the shortest ones."""
    _, rows = runs.api(run.name)
    with runs.prepared(run.name, run.kept) as services:

        def differs(requests):
            raw = [each.raw() for each in requests]
            answers = [each.answers(raw)[-1] for each in services]
            for each in services:
                each.reset()
            return runs.kinds(rows, requests[-1], *answers)

        for kind, _ in figures.kinds.most_common(number):
            requests, difference = figures.examples[kind]
            figures.examples[kind] = shortest(requests, kind, differs), difference
