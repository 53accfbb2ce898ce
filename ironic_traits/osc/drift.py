"""openstack baremetal drift"""

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from ironic_traits import clauses, osc
from ironic_traits.osc import capacity, commands, requests

_COLUMNS = ('Kind', 'Name', 'Nodes', 'Detail')
_FIRMWARE = ('Vendor', 'Model', 'Name', 'Version', 'Nodes')


class Drift(commands.Lister):
    """Show where flavors, images and nodes no longer fit together

    List flavors that no node matches, traits that no flavor and no image names, nodes that no flavor matches, retired
    traits that are used, traits that images require and no node has, and flavors that match other nodes when more
    traits are exclusive. Or count nodes by the versions of their firmware.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        group = capacity.add_flavor_options(parser, required=True)
        group.add_argument('--firmware', action='store_true', help='Count the nodes of each model by their firmware')
        parser.add_argument(
            '--images-from-glance', action='store_true', help="Also compare the images of Glance ('openstack' only)"
        )

        parser.add_argument(
            '--exclusive',
            metavar='<trait>',
            action='append',
            help='Suppose that the trait is exclusive, too. May be repeated',
        )

    def take_action(self, parsed_args: argparse.Namespace) -> commands.Table:
        if parsed_args.firmware:
            rows = osc.client(self.app).firmware()
            return _FIRMWARE, [tuple(row[name.lower()] for name in _FIRMWARE) for row in rows]
        body = capacity.flavors(self.app, parsed_args)
        for flavor in body.get('flavors', ()):
            # Drift is about single nodes.
            for name in ('topology', 'relative_to', 'count'):
                flavor.pop(name, None)
        if parsed_args.images_from_glance:
            body['images'] = requests.images(self.app)
        if parsed_args.exclusive:
            body['exclusive'] = parsed_args.exclusive
        response = osc.client(self.app).drift(**body)
        for warning in response['warnings']:
            self.log.warning(warning)
        return _COLUMNS, list(_rows(response))


def _rows(response: Mapping[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    for flavor in response['unsatisfied']:
        relaxation = flavor['relaxation']
        yield 'flavor without nodes', flavor['name'], 0, clauses.relaxation(relaxation) if relaxation else ''
    for flavor in response['changed_flavors']:
        yield 'flavor with other nodes', flavor['name'], flavor['then'], f'{flavor["now"]} now'
    for trait in response['unused_traits']:
        yield 'trait without flavor', trait['trait'], trait['nodes'], ''
    for node in response['unreached_nodes']:
        yield 'node without flavor', node['name'] or node['uuid'], 1, ''
    more = response['unreached'] - len(response['unreached_nodes'])
    if more:
        yield 'node without flavor', '…', more, 'more'
    for trait in response['retired_traits']:
        used_by = [f'flavor {name}' for name in trait['flavors']] + [f'image {name}' for name in trait['images']]
        yield 'retired trait', trait['trait'], trait['nodes'], ', '.join(used_by)
    for trait in response['absent_image_traits']:
        yield 'image without nodes', trait['trait'], 0, ', '.join(f'image {name}' for name in trait['images'])
