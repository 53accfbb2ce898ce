"""The implementation of ironic-traits-mirror. Any number of mirror processes may share one database."""

import contextlib
import signal
import sys
import threading

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.cmd import setup, supervisor
from ironic_traits.context import Context
from ironic_traits.inventory import mirror_clouds, mirror_moves, mirror_trait_writes, mirrored_allocations
from ironic_traits.mirror.follower import Follower
from ironic_traits.printing import count
from ironic_traits.service import Service

_OPTIONS = [
    cfg.MultiOpt(
        'cloud',
        item_type=cfg.types.String(regex=r'^[A-Za-z0-9._-]+$', max_length=57),
        help='Cloud of clouds.yaml to follow; may be repeated. By default, the clouds of [mirror] clouds.',
    ),
]


def run():
    """Follow clouds until SIGINT or SIGTERM, or run one command."""
    supervised = supervisor.is_supervised()
    argv = supervisor.arguments()
    if not {*_COMMANDS, 'preview'}.isdisjoint(argv):
        _run_command(setup.configuration(argv, cli=[*_OPTIONS, cfg.SubCommandOpt('command', handler=_add_commands)]))
        return
    conf = setup.configuration(argv, cli=_OPTIONS)
    names = list(dict.fromkeys(conf.cloud or conf.mirror.clouds))
    if not names:
        sys.exit('There is no cloud to follow: use --cloud NAME, or set [mirror] clouds.')
    setup.openstacksdk()
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


def _adopt(service, context, ident):
    """Make a mirrored node this service's own. Print a warning if its driver is not enabled."""
    node = mirror_moves.adopt(context, ident)
    print(f'{node.uuid} is adopted')
    if node.driver not in service.drivers:
        print(f'{node.uuid} cannot be deployed: its driver {node.driver!r} is not enabled here', file=sys.stderr)


def _forget(service, context, ident):
    """Remove a mirrored node."""
    print(f'{mirror_moves.forget(context, ident)} is removed')


def _rewrite(service, context, ident):
    """Let the mirror write traits of a node again."""
    traits = mirror_trait_writes.rewrite(context, ident)
    if traits:
        print(f'{ident}: {", ".join(traits)} will be written again')


def _preview(context, name):
    """Print what would be written to a cloud."""
    row, conflicts = mirror_clouds.get(context, name)
    pending = mirror_trait_writes.pending(context, name)
    nodes = [node for node in pending.values() if node.operations]
    for node in nodes:
        verbs = {'add': node.add, 'remove': node.remove}
        parts = [f'{verb} {", ".join(sorted(traits))}' for verb, traits in verbs.items() if traits]
        print(f'{node.name or "-"} {node.uuid}: {"; ".join(parts)}')
    for conflict in conflicts:
        if conflict.trait:
            print(f'{conflict.uuid}, {conflict.trait}: {conflict.reason}')
    added, removed = (sum(len(getattr(node, verb)) for node in nodes) for verb in ('add', 'remove'))
    print(f'cloud {row.name}: {count(added, "trait")} to add and {removed} to remove, on {count(len(nodes))}')


#: {name: (function from the service, a context and a uuid or name, description)}.
_COMMANDS = {
    'adopt': (_adopt, "Make mirrored nodes this service's own, with the traits that they have in their cloud."),
    'forget': (_forget, 'Remove mirrored nodes. A running mirror stores them again.'),
    'rewrite': (
        _rewrite,
        'Write traits again that another client has removed from nodes in their cloud.',
    ),
}
_PREVIEW = 'Show which traits [mirror] write = traits adds and removes in the clouds. Nothing is written.'


def _add_commands(subparsers):
    for name, (_, description) in _COMMANDS.items():
        parser = subparsers.add_parser(name, help=description, description=description)
        parser.add_argument('nodes', nargs='*', metavar='NODE', help='uuid or name')
        parser.add_argument('--all', '-a', action='store_true', help='all mirrored nodes, or all nodes of --cloud')
    subparsers.add_parser('preview', help=_PREVIEW, description=_PREVIEW)


def _run_command(conf):
    """Run a command on nodes, each in its own transaction. Exit with 1 if one has failed."""
    command, clouds = conf.command, conf.cloud or []
    if command.name == 'preview':
        _preview_all(conf)
        return
    if bool(command.nodes) == command.all:
        sys.exit('Name nodes, or use --all.')
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        context = Context(service, None, 0, '')
        has_failed = False
        for ident in command.nodes or mirror_moves.mirrored(context, clouds):
            try:
                _COMMANDS[command.name][0](service, context, ident)
            except failures.Failure as failure:
                has_failed = True
                print(failure, file=sys.stderr)
        if command.name == 'adopt' and command.all:
            mirrored_allocations.adopt_others(context, clouds)
        if command.name == 'forget' and command.all:
            for name in clouds or [row.name for row in mirror_clouds.find(context)]:
                mirror_moves.forget_cloud(context, name)
        sys.exit(int(has_failed))


def _preview_all(conf):
    # For "preview | head".
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        context = Context(service, None, 0, '')
        try:
            for name in conf.cloud or [row.name for row in mirror_clouds.find(context)]:
                _preview(context, name)
        except failures.Failure as failure:
            sys.exit(str(failure))
