"""The implementation of ironic-traits-mirror. Any number of mirror processes may share one database."""

import contextlib
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

from oslo_config import cfg

from ironic_traits import failures
from ironic_traits.cmd import setup, supervisor, tracing
from ironic_traits.context import Context
from ironic_traits.inventory.mirrored import (
    mirror_clouds,
    mirror_deletions,
    mirror_kept_nodes,
    mirror_moves,
    mirror_trait_writes,
    mirrored_allocations,
)
from ironic_traits.mirror import cloud_holder, leftovers
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


def run() -> None:
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
    with contextlib.closing(Service(conf)) as service, tracing.sending(conf, 'ironic-traits-mirror'):
        follow([Follower(service, name) for name in names])


def follow(followers: Sequence[Follower]) -> None:
    """Follow clouds, each in a thread, until SIGINT or SIGTERM."""

    def stop(number: int, frame: FrameType | None) -> None:
        for follower in followers:
            follower.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    threads = [threading.Thread(target=follower.run) for follower in followers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _adopt(context: Context, ident: str) -> None:
    """Make mirrored nodes this service's own, with the traits that they have in their cloud."""
    node = mirror_moves.adopt(context, ident)
    print(f'{node.uuid} is adopted')
    if node.driver not in context.service.drivers:
        print(f'{node.uuid} cannot be deployed: its driver {node.driver!r} is not enabled', file=sys.stderr)


def _forget(context: Context, ident: str) -> None:
    """Remove mirrored nodes. A running mirror stores them again."""
    print(f'{cloud_holder.forget(context, ident)} is removed')


def _rewrite(context: Context, ident: str) -> None:
    """Write traits again that another client has removed from nodes in their cloud."""
    traits = mirror_trait_writes.rewrite(context, ident)
    if traits:
        print(f'{ident}: {", ".join(traits)} will be written again')


def _restore(context: Context, ident: str) -> None:
    """Restore what operators had set before: traits and vetoes of nodes that were created again in their cloud."""
    print(f'{mirror_kept_nodes.restore(context, ident)} has got back what was kept')


def _missing(context: Context, name: str) -> None:
    """List the mirrored nodes that their clouds no longer show."""
    row = mirror_clouds.get(context, name)
    missing = mirror_deletions.find(context, name)
    for node in missing:
        confirmed = ', its deletion is confirmed' if node.confirmed else ''
        print(f'{node.name or "-"} {node.uuid}: missing since {node.since:%Y-%m-%d %H:%M:%S} UTC{confirmed}')
    print(f'cloud {name}: {count(len(missing))} of {row.nodes} missing')
    if row.missing_nodes:
        print(f'To delete them in this service: ironic-traits-mirror --cloud {name} confirm deletions')


def _confirm_deletions(context: Context, name: str) -> None:
    """Let the mirror delete the nodes that the clouds no longer show, or write traits in the clouds."""
    print(f'cloud {name}: {count(mirror_deletions.confirm(context, name))} will be deleted in this service')


def _confirm_writes(context: Context, name: str) -> None:
    print(f'cloud {name}: traits will be written ({mirror_clouds.confirm_writes(context, name)})')


def _preview(context: Context, name: str) -> None:
    """Show which traits [mirror] write adds and removes in the clouds. Nothing is written."""
    mirror_clouds.get(context, name)
    pending = mirror_trait_writes.pending(context, name)
    nodes = [node for node in pending.values() if node.operations]
    for node in nodes:
        verbs = {'add': node.add, 'remove': node.remove}
        parts = [f'{verb} {", ".join(sorted(traits))}' for verb, traits in verbs.items() if traits]
        print(f'{node.name or "-"} {node.uuid}: {"; ".join(parts)}')
    for conflict in mirror_clouds.conflicts(context, name):
        if conflict.trait:
            print(f'{conflict.uuid}, {conflict.trait}: {conflict.reason}')
    added, removed = (sum(len(getattr(node, verb)) for node in nodes) for verb in ('add', 'remove'))
    print(f'cloud {name}: {count(added, "trait")} to add and {removed} to remove, on {count(len(nodes))}')


def _leftovers(context: Context, name: str) -> bool:
    """List the traits and instances that this service has written to nodes in the clouds, and that are still there,
    also after "forget" and "adopt". The clouds are only read. The exit status is 1 if there are any.
    """
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


_OF_NODES = {'adopt': _adopt, 'forget': _forget, 'rewrite': _rewrite, 'restore': _restore}
#: {name, and what follows it: function of a context, and of a node (uuid or name) or a cloud}. Its docstring is the
#: description of the command. If it returns true, the exit status is 1.
_COMMANDS: dict[str, Callable[[Context, str], bool | None]] = {
    **_OF_NODES,
    'preview': _preview,
    'missing': _missing,
    'leftovers': _leftovers,
    f'confirm {mirror_clouds.DELETIONS}': _confirm_deletions,
    f'confirm {mirror_clouds.WRITES}': _confirm_writes,
}


def _add_commands(subparsers: Any) -> None:
    """Add the commands to a parser.

    :param subparsers: the result of argparse's ``add_subparsers``, whose class is private.
    """
    # oslo.config has set it.
    subparsers.required = False
    for name, call in _COMMANDS.items():
        name, _, what = name.partition(' ')
        if name in subparsers.choices:
            continue
        about = ' '.join((call.__doc__ or '').split())
        parser = subparsers.add_parser(name, help=about, description=about)
        if what:
            parser.add_argument('what', choices=[mirror_clouds.DELETIONS, mirror_clouds.WRITES])
        if name in _OF_NODES:
            parser.add_argument('nodes', nargs='*', metavar='NODE', help='uuid or name')
            parser.add_argument('--all', '-a', action='store_true', help='all mirrored nodes, or all nodes of --cloud')


def _run_command(conf: cfg.ConfigOpts) -> None:
    """Run a command on nodes or clouds, each in its own transaction. Exit with 1 if one has failed."""
    name = ' '.join(filter(None, (conf.command.name, getattr(conf.command, 'what', None))))
    is_of_nodes = name in _OF_NODES
    if is_of_nodes and bool(conf.command.nodes) == conf.command.all:
        sys.exit('Name nodes, or use --all.')
    # For "preview | head".
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    setup.schema(conf)
    with contextlib.closing(Service(conf)) as service:
        context = Context(service, None, 0, '')
        clouds = conf.cloud or [row.name for row in mirror_clouds.find(context)]
        if not is_of_nodes and not clouds:
            sys.exit('No cloud is mirrored: use --cloud NAME.')
        has_failed = False
        for subject in _nodes(context, conf) if is_of_nodes else clouds:
            try:
                has_failed |= bool(_COMMANDS[name](context, subject))
            except failures.Failure as failure:
                has_failed = True
                print(failure, file=sys.stderr)
        if name == 'adopt' and conf.command.all:
            mirrored_allocations.adopt_others(context, conf.cloud or [])
        if name == 'forget' and conf.command.all:
            for cloud in clouds:
                mirror_moves.forget_cloud(context, cloud)
        sys.exit(int(has_failed))


def _nodes(context: Context, conf: cfg.ConfigOpts) -> list[str]:
    """Return the nodes that are named, or all mirrored nodes that a command is for."""
    conditions = [mirror_kept_nodes.IS_KEPT] if conf.command.name == 'restore' else []
    return conf.command.nodes or mirror_moves.mirrored(context, conf.cloud or [], *conditions)
