"""The options that say what a node must be, which several commands have."""

from osc_lib import exceptions
from osc_lib.cli import parseractions

from ironic_traits.osc import trait_options


def add_options(parser):
    """Add the options to a command's parser."""
    parser.add_argument('--flavor', metavar='<flavor>', help='Flavor of nova: its traits and its resource class')
    parser.add_argument('--image', metavar='<image>', help='Image of Glance: its traits')
    parser.add_argument(
        '--property',
        metavar='<key=value>',
        action=parseractions.KeyValueAction,
        dest='properties',
        help="An extra spec of a flavor, as in trait:CUSTOM_A=required (repeat for more; instead of '--flavor')",
    )
    parser.add_argument('--resource-class', metavar='<class>', help='Resource class of the node')
    trait_options.add(parser, '--trait', help='Traits that the node must have, all of them')
    trait_options.add(parser, '--not-trait', help='Traits that the node must not have, none of them')
    trait_options.add(parser, '--prefer', help='Traits that the node had better have')
    trait_options.add(
        parser,
        '--trait-any',
        action=trait_options.Groups,
        help='Traits of which the node must have one; repeated lists: one of each list',
    )


def request(app, parsed):
    """Give the request that the options stand for: the keys of POST /v1/matches.

    :param app: the cliff application.
    :param parsed: the parsed arguments.
    """
    trait_options.check_groups(parsed.trait_any, '--trait-any', several=True)
    wanted = {
        'flavor': _flavor(app, parsed),
        'image': _image(app, parsed),
        'resource_class': parsed.resource_class,
        'required': parsed.trait,
        'required_any': parsed.trait_any,
        'forbidden': parsed.not_trait,
        'preferred': parsed.prefer,
    }
    return {name: value for name, value in wanted.items() if value}


def _flavor(app, parsed):
    if parsed.properties and parsed.flavor:
        raise exceptions.CommandError('--flavor or --property is said, not both')
    if parsed.properties:
        return {'extra_specs': parsed.properties}
    if parsed.flavor:
        return {'extra_specs': _cloud(app).compute.find_flavor(parsed.flavor, ignore_missing=False).extra_specs}
    return None


def _image(app, parsed):
    if not parsed.image:
        return None
    return {'properties': _cloud(app).image.find_image(parsed.image, ignore_missing=False).properties}


def _cloud(app):
    """Give the connection to the cloud, which the command of a single service has not."""
    if not hasattr(app.client_manager, 'sdk_connection'):
        raise exceptions.CommandError("--flavor and --image are for 'openstack baremetal'; here there is --property")
    return app.client_manager.sdk_connection
