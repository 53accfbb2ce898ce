"""Measure the web page in a browser: python -m benchmarks.page http://127.0.0.1:6385

The service should have many nodes (``benchmarks.seed``) and no authentication. Each figure is the time until the page
shows everything, as the median of several runs. It needs Debian's chromium, and Playwright (from pip).
"""

import argparse
import re
import shutil
import statistics
import time

from playwright.sync_api import sync_playwright

#: Milliseconds that a step may take.
_PATIENCE = 60000


def main():
    """Print a line for each step."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('url', help='http://HOST:PORT of the service')
    parser.add_argument('-n', type=int, default=5, help='number of runs')
    arguments = parser.parse_args()
    figures = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which('chromium'), args=['--no-sandbox'])
        for _ in range(arguments.n):
            for name, seconds in _run(browser, arguments.url):
                figures.setdefault(name, []).append(seconds)
        browser.close()
    for name, seconds in figures.items():
        print(f'{name:32} {statistics.median(seconds) * 1000:7.0f} ms')


def _run(browser, url):
    """Generate (step, seconds) of a new tab."""
    # wait_for_function evaluates text. The page's Content-Security-Policy forbids that.
    page = browser.new_page(bypass_csp=True)
    page.set_default_timeout(_PATIENCE)
    yield 'first view', _timed(page, lambda: page.goto(f'{url}/ui/'))
    trait = page.locator('.facets .pm a').first
    yield 'a trait', _timed(page, trait.click)
    page.goto(f'{url}/ui/#/nodes')
    _settle(page)
    for name in ('available', 'active'):
        link = page.get_by_role('link', name=name, exact=True).first
        yield f'provision state {name}', _timed(page, link.click)
        page.go_back()
        _settle(page)
    link = page.get_by_role('link', name=re.compile('^baremetal')).first
    yield 'resource class', _timed(page, link.click)
    page.goto(f'{url}/ui/#/nodes')
    _settle(page)
    page.get_by_label('Search nodes').fill('0999')
    yield 'search for a text', _timed(page, lambda: _search(page))
    yield 'a node', _timed(page, page.locator('td.name a').first.click)
    page.close()


def _search(page):
    page.get_by_label('Search nodes').press('Enter')
    # Until then, the page loads nothing, and would count as settled.
    page.wait_for_selector('.stale')


def _timed(page, step):
    """Return the seconds that a step takes until the page has loaded everything."""
    started_at = time.perf_counter()
    step()
    _settle(page)
    return time.perf_counter() - started_at


def _settle(page):
    """Wait until the page shows something, and no sign that it still loads."""
    # Check at each frame. Playwright's own assertions pause for up to a second between two checks.
    page.wait_for_function("() => document.querySelector('.card') && !document.querySelector('.stale, .busy')")


if __name__ == '__main__':
    main()
