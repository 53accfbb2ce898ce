"""The implementation of ironic-traits-mirror.  Any number of them may share one database."""

import contextlib
import importlib.util
import signal
import sys
import threading

from oslo_config import cfg

from ironic_traits.cmd import setup, supervisor
from ironic_traits.mirror.follower import Follower
from ironic_traits.service import Service

_OPTIONS = [
    cfg.MultiOpt(
        'cloud',
        item_type=cfg.types.String(regex=r'^[A-Za-z0-9._-]+$', max_length=57),
        help='Cloud of clouds.yaml to follow; may be repeated. By default those of [mirror] clouds.',
    ),
]


def run():
    """Follow clouds until SIGINT or SIGTERM."""
    supervised = supervisor.is_supervised()
    conf = setup.configuration(supervisor.arguments(), cli=_OPTIONS)
    names = list(dict.fromkeys(conf.cloud or conf.mirror.clouds))
    if not names:
        sys.exit('There is no cloud to follow: use --cloud NAME, or set [mirror] clouds.')
    if importlib.util.find_spec('openstack') is None:
        sys.exit("openstacksdk is not installed. Run: pip install 'ironic-traits[mirror]'")
    if not supervised:
        # Otherwise ironic-traits-api, which has the same configuration, has printed the warnings.
        setup.warn(conf)
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        follow([Follower(service, name) for name in names])


def follow(followers):
    """Follow clouds, each in a thread, until SIGINT or SIGTERM.

    :param followers: [ironic_traits.mirror.follower.Follower, …].
    """

    def stop(*signaled):
        for follower in followers:
            follower.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    threads = [threading.Thread(target=follower.run) for follower in followers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
