"""The banner that ironic-traits-api prints once it answers requests."""

import contextlib
import http.client
import threading
import time

from oslo_config import cfg

from ironic_traits.api import microversions
from ironic_traits.cmd import logs
from ironic_traits.cmd.server import addresses, console
from ironic_traits.conf import database_name
from ironic_traits.version import version

_STRATEGIES = {
    'noauth': 'none: every client that can connect has full access',
    'noauth2': 'noauth2: tokens are not verified; for tests only',
    'http_basic': 'http_basic, with the users in {file}',
    'keystone': 'keystone',
}
_BANNER = """\
ironic-traits {version} {verb} {url}
  authentication: {strategy}
  database: {database}
  log: {log}
  worker: {worker}
"""
_PAGE = '  page for browsers: {url}/ui/\n'
#: Shown only under noauth: these commands send no credentials.
_TOUR = """
Try in another terminal:
  V='X-OpenStack-Ironic-API-Version: 1.{minor}'
  curl -H "$V" -H 'Content-Type: application/json' {url}/v1/nodes -d '{{"driver": "fake-hardware", "name": "one"}}'
  curl -H "$V" -X PUT {url}/v1/nodes/one/traits/CUSTOM_GOLD
  curl -H "$V" '{url}/v1/nodes?fields=name,traits'
README.rst continues from there. Ctrl-C stops the service.
"""


def announce(conf: cfg.ConfigOpts, address: str) -> None:
    """Print the banner from a thread, as soon as the service answers.

    :param address: IP address that the service listens on.
    """
    threading.Thread(target=_announce, args=(conf, address), daemon=True).start()


def _announce(conf: cfg.ConfigOpts, address: str) -> None:
    while not _answers(addresses.local(address), conf.port):
        time.sleep(0.05)
    console.write(text(conf))


def _answers(host: str, port: int) -> bool:
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=10)) as connection:
        try:
            connection.request('GET', '/', headers={'User-Agent': 'ironic-traits-api'})
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            return False
    return True


def text(conf: cfg.ConfigOpts) -> str:
    """Return the banner. Under noauth, it has the first commands to try, unless only Placement is served."""
    placement = conf.api.serve == 'placement'
    strategy = conf.api.auth_strategy
    banner = _BANNER
    if conf.api.enable_ui and conf.api.serve == 'all':
        banner += _PAGE
    if strategy == 'noauth' and not placement:
        banner += _TOUR
    return banner.format(
        version=version(),
        minor=microversions.MAXIMUM,
        verb='serves the Placement API at' if placement else 'listens on',
        url=addresses.url(conf),
        strategy=_STRATEGIES[strategy].format(file=conf.api.http_basic_auth_user_file),
        database=database_name(conf),
        log=logs.destinations(),
        worker='started' if conf.start_worker else 'not started: nodes change state when ironic-traits-worker runs',
    )
