"""A real browser for tests of the web page: Debian's chromium without windows, driven by Playwright."""

import contextlib
import urllib.parse

from tests.support import servers
from tests.support.concurrency import wait_until

#: Maximum milliseconds that the page may take for an action.
PATIENCE = 60000
_ARGUMENTS = (
    '--no-sandbox',
    '--headless',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    # Starting a process for each tab takes longer than most tests.
    '--renderer-process-limit=1',
    '--disable-site-isolation-trials',
    '--disable-extensions',
    '--disable-software-rasterizer',
)
#: Problems that axe must not find.
_SERIOUS = ('serious', 'critical')


def path():
    """Return the path of the browser; None if it is not installed."""
    return servers.program('chromium-headless-shell')


@contextlib.contextmanager
def running():
    """Run a browser during the block, and provide it."""
    # Import this late: all tests import this module, and few need a browser.
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path(), args=list(_ARGUMENTS), timeout=60000)
        try:
            yield browser
        finally:
            browser.close()


def context(browser, **options):
    """Return a new context: the browser of one user, with its own storage."""
    # An animation makes the browser draw all the time.
    defaults = {'viewport': {'width': 1360, 'height': 850}, 'reduced_motion': 'reduce'}
    created = browser.new_context(**defaults | options)
    created.set_default_timeout(PATIENCE)
    return created


@contextlib.contextmanager
def tab(browser, base, **options):
    """Open a tab in a new context during the block, and provide the Tab.

    :param base: URL of the service.
    :param options: of the context.
    """
    created = context(browser, **options)
    try:
        with tab_in(created, base) as opened:
            yield opened
    finally:
        created.close()


@contextlib.contextmanager
def tab_in(created, base):
    """Open a tab in a context during the block, and provide the Tab. Fail if it has a problem at the end."""
    page = created.new_page()
    try:
        opened = Tab(page, base)
        yield opened
        assert opened.problems == [], opened.problems
    finally:
        page.close()


def reserve_and_release(page):
    """Reserve the node of a page, and release it. The timeline follows both."""
    from playwright.sync_api import expect

    latest = page.locator('.timeline li').first
    page.get_by_text('Reserve it').click()
    page.get_by_role('button', name='Reserve', exact=True).click()
    expect(latest).to_contain_text('holds the node')
    page.get_by_role('button', name='Release').click()
    page.get_by_role('dialog').get_by_role('button', name='Release').click()
    expect(latest).not_to_contain_text('holds the node')


class Tab:
    """A tab with the web page of a service.

    :ivar page: Playwright's page.
    :ivar problems: messages of errors in the console, exceptions, and requests to other origins.
    :ivar expected: texts that messages in the console may have.
    """

    def __init__(self, page, base):
        self.page, self.base = page, base
        self.problems, self.expected = [], []
        #: The requests without a response.
        self._requests = set()
        page.on('request', lambda request: self._requests.add(request))
        for event in ('requestfinished', 'requestfailed'):
            page.on(event, lambda request: self._requests.discard(request))
        page.on('console', self._look_at_message)
        page.on('pageerror', lambda error: self.problems.append(str(error)))
        page.on('request', self._look_at_request)

    def open(self, place='#/nodes'):
        """Open a place of the page, and return the Playwright page."""
        self.page.goto(f'{self.base}/ui/{place}')
        return self.page

    def wait_for_responses(self):
        """Wait until the page has the responses to all its requests, also if it was loaded long ago."""
        # Playwright knows of events only while it waits for something.
        wait_until(lambda: self.page.wait_for_timeout(20) or not self._requests)

    def stop_clock(self):
        """Stop the clock of the page a minute from now, for ``page.clock.run_for``. Timers that are due fire once.

        An installed clock still runs, so what it shows depends on how fast the test is.
        """
        self.page.clock.pause_at(self.page.evaluate('Date.now() / 1000') + 60)
        # The page draws, and then loads what the timers ask for.
        self.page.clock.run_for(200)
        self.page.wait_for_load_state('networkidle')

    def check_accessibility(self):
        """Fail if axe finds a serious problem."""
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(self.page).response['violations']
        serious = [each for each in found if each['impact'] in _SERIOUS]
        problems = [(each['id'], [node['html'][:200] for node in each['nodes']]) for each in serious]
        assert not problems, problems

    def _look_at_message(self, message):
        if message.type in ('error', 'warning') and not any(text in message.text for text in self.expected):
            self.problems.append(message.text)

    def _look_at_request(self, request):
        url = urllib.parse.urlsplit(request.url)
        if url.scheme not in ('blob', 'data') and f'{url.scheme}://{url.netloc}' != self.base:
            self.problems.append(f'request to {request.url}')
        if 'token' in url.query or 'password' in url.query:
            self.problems.append(f'secret in {request.url}')
