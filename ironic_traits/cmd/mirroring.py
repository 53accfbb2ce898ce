"""The implementation of ironic-traits-mirror. Any number of mirror processes may share one database."""

import contextlib
import signal
import sys
import threading

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.cmd import setup, supervisor
from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import (
    mirror_clouds,
    mirror_deletions,
    mirror_kept_nodes,
    mirror_moves,
    mirror_trait_writes,
    mirrored_allocations,
)
from ironic_traits.mirror import claims, leftovers
from ironic_traits.mirror.cloud import Unreadable
from ironic_traits.mirror.follower import Follower
from ironic_traits.printing import count
from ironic_traits.service import Service

_OPTIONS = [
    cfg.MultiOpt(
        'cloud',
        item_type=cfg.types.String(regex=r'^[A-Za-z0-9._-]+$', max_length=57),
        help='Cloud of clouds.yaml to follow; may be repeated. By default, the clouds of [mirror] clouds.',
    ),
    cfg.SubCommandOpt(
        'command',
        title='commands',
        description='Without a command, the clouds are followed until SIGINT or SIGTERM.',
        handler=lambda subparsers: _add_commands(subparsers),
    ),
]


def run():
    """Follow clouds until SIGINT or SIGTERM, or run one command."""
    supervised = supervisor.is_supervised()
    conf = setup.configuration(supervisor.arguments(), cli=_OPTIONS)
    if conf.command.name:
        _run_command(conf)
        return
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
    print(f'{claims.forget(context, ident)} is removed')


def _rewrite(service, context, ident):
    """Let the mirror write traits of a node again."""
    traits = mirror_trait_writes.rewrite(context, ident)
    if traits:
        print(f'{ident}: {", ".join(traits)} will be written again')


def _restore(service, context, ident):
    """Restore what operators had set on an earlier node with the uuid of a node."""
    print(f'{mirror_kept_nodes.restore(context, ident)} has got back what was kept')


def _missing(context, name):
    """Print the nodes that a cloud no longer shows."""
    row, _ = mirror_clouds.get(context, name)
    missing = mirror_deletions.find(context, name)
    for node in missing:
        confirmed = ', its deletion is confirmed' if node.confirmed else ''
        print(f'{node.name or "-"} {node.uuid}: missing since {node.since:%Y-%m-%d %H:%M:%S} UTC{confirmed}')
    print(f'cloud {name}: {count(len(missing))} of {row.nodes} missing')
    if row.missing_nodes:
        print(f'To delete them here: ironic-traits-mirror --cloud {name} confirm deletions')


def _confirm(context, name, what):
    """Let the mirror do what has waited for an operator."""
    if what == mirror_clouds.DELETIONS:
        number = mirror_deletions.confirm(context, name)
        print(f'cloud {name}: {count(number)} will be deleted here')
    else:
        print(f'cloud {name}: traits will be written ({mirror_clouds.confirm_writes(context, name)})')


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


def _leftovers(context, name):
    """Print what this service has written to a cloud, and is still there. Return whether there is anything."""
    setup.openstacksdk()
    try:
        left = leftovers.find(context, name)
    except Unreadable as error:
        sys.exit(f'Cloud {name} cannot be read: {error}')
    for node in left.found:
        items = [f'instance {node.instance}'] * bool(node.instance) + [f'trait {trait}' for trait in node.traits]
        print(f'{node.name or "-"} {node.uuid}: {", ".join(items)}')
    for uuid in left.hidden:
        print(f'- {uuid}: the cloud does not show this node, to which this service has written')
    result = (
        f'something of this service is left on {len(left.found)}' if left.found else 'nothing of this service is left'
    )
    print(f'cloud {name}: {count(left.nodes)} read, {result}')
    return bool(left.found)


#: {name: (function from the service, a context and a uuid or name, description)}.
_COMMANDS = {
    'adopt': (_adopt, "Make mirrored nodes this service's own, with the traits that they have in their cloud."),
    'forget': (_forget, 'Remove mirrored nodes. A running mirror stores them again.'),
    'rewrite': (
        _rewrite,
        'Write traits again that another client has removed from nodes in their cloud.',
    ),
    'restore': (
        _restore,
        'Give nodes that were created again in their cloud the traits and vetoes that operators had set before.',
    ),
}
#: {name: (function from a context and the name of a cloud, description)}. The exit status is 1 if a function returns
#: true.
_OF_CLOUDS = {
    'preview': (_preview, 'Show which traits [mirror] write adds and removes in the clouds. Nothing is written.'),
    'missing': (_missing, 'List the mirrored nodes that their clouds no longer show.'),
    'leftovers': (
        _leftovers,
        'List the traits and instances that this service has written to nodes in the clouds, and that are still there, '
        'also after "forget" and "adopt". The clouds are only read. The exit status is 1 if there are any.',
    ),
}
_CONFIRM = 'Let the mirror delete the nodes that the clouds no longer show, or write traits there.'


def _add_commands(subparsers):
    # oslo.config has set it.
    subparsers.required = False
    for name, (_, description) in _COMMANDS.items():
        parser = subparsers.add_parser(name, help=description, description=description)
        parser.add_argument('nodes', nargs='*', metavar='NODE', help='uuid or name')
        parser.add_argument('--all', '-a', action='store_true', help='all mirrored nodes, or all nodes of --cloud')
    for name, (_, description) in _OF_CLOUDS.items():
        subparsers.add_parser(name, help=description, description=description)
    parser = subparsers.add_parser('confirm', help=_CONFIRM, description=_CONFIRM)
    parser.add_argument('what', choices=[mirror_clouds.DELETIONS, mirror_clouds.WRITES])


def _run_command(conf):
    """Run a command on nodes, each in its own transaction. Exit with 1 if one has failed."""
    command, clouds = conf.command, conf.cloud or []
    if command.name not in _COMMANDS:
        _run_on_clouds(conf)
        return
    if bool(command.nodes) == command.all:
        sys.exit('Name nodes, or use --all.')
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        context = Context(service, None, 0, '')
        has_failed = False
        conditions = [mirror_kept_nodes.IS_KEPT] if command.name == 'restore' else []
        for ident in command.nodes or mirror_moves.mirrored(context, clouds, *conditions):
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


def _run_on_clouds(conf):
    """Run a command on clouds."""
    command = conf.command
    # For "preview | head".
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        context = Context(service, None, 0, '')
        try:
            names = conf.cloud or [row.name for row in mirror_clouds.find(context)]
            if not names:
                sys.exit('No cloud is mirrored: use --cloud NAME.')
            if command.name == 'confirm':
                found = [_confirm(context, name, command.what) for name in names]
            else:
                found = [_OF_CLOUDS[command.name][0](context, name) for name in names]
            sys.exit(int(any(found)))
        except failures.Failure as failure:
            sys.exit(str(failure))
