"""The options for requirements on nodes. Several commands share them."""

import argparse
from typing import Any

from osc_lib import exceptions
from osc_lib.cli import parseractions

from ironic_traits.osc import trait_options
from ironic_traits.osc.option_types import nonempty

#: {option for requirements: its attribute of the parsed arguments}.
_DESTINATIONS = {
    '--flavor': 'flavor',
    '--image': 'image',
    '--property': 'properties',
    '--resource-class': 'resource_class',
    '--trait': 'trait',
    '--not-trait': 'not_trait',
    '--prefer': 'prefer',
    '--trait-any': 'trait_any',
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options to a command's parser."""
    parser.add_argument(
        '--flavor', metavar='<flavor>', type=nonempty, help='Nova flavor with required traits and resource class'
    )
    parser.add_argument('--image', metavar='<image>', type=nonempty, help='Glance image with required traits')
    parser.add_argument(
        '--property',
        metavar='<key=value>',
        action=parseractions.KeyValueAction,
        dest='properties',
        help="Flavor extra spec, such as trait:CUSTOM_A=required, instead of '--flavor' (repeat for more)",
    )
    parser.add_argument('--resource-class', metavar='<class>', type=nonempty, help='Resource class of the node')
    trait_options.add(parser, '--trait', help='Required traits')
    trait_options.add(parser, '--not-trait', help='Forbidden traits')
    trait_options.add(parser, '--prefer', help='Preferred traits: nodes that have more of them come first')
    trait_options.add(
        parser,
        '--trait-any',
        action=trait_options.Groups,
        help='Traits of which the node must have at least one; with several lists, one of each list',
    )


def used(parsed: argparse.Namespace) -> list[str]:
    """Return the options for requirements that the user has set, such as ['--trait', '--property']."""
    return [option for option, dest in _DESTINATIONS.items() if getattr(parsed, dest)]


def request(app: Any, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the requirements of the options, as a body of POST /v1/matches."""
    trait_options.check_groups(parsed.trait_any, '--trait-any', several=True)
    body = {
        'flavor': _flavor(app, parsed),
        'image': _image(app, parsed),
        'resource_class': parsed.resource_class,
        'required': parsed.trait,
        'required_any': parsed.trait_any,
        'forbidden': parsed.not_trait,
        'preferred': parsed.prefer,
    }
    return {name: value for name, value in body.items() if value}


def _flavor(app: Any, parsed: argparse.Namespace) -> dict[str, Any] | None:
    if parsed.properties and parsed.flavor:
        raise exceptions.CommandError('Use --flavor or --property, not both')
    if parsed.properties:
        return {'extra_specs': parsed.properties}
    if parsed.flavor:
        return {'extra_specs': _cloud(app).compute.find_flavor(parsed.flavor, ignore_missing=False).extra_specs}
    return None


def _image(app: Any, parsed: argparse.Namespace) -> dict[str, Any] | None:
    if not parsed.image:
        return None
    return {'properties': _cloud(app).image.find_image(parsed.image, ignore_missing=False).properties}


def images(app: Any) -> list[dict[str, Any]]:
    """Return the images of Glance that require traits: [{'name': …, 'properties': {…}}, …]."""
    result = []
    for image in _cloud(app).image.images():
        traits = {key: value for key, value in (image.properties or {}).items() if key.startswith('trait')}
        if traits:
            result.append({'name': image.name or image.id, 'properties': traits})
    return result


def _cloud(app: Any) -> Any:
    """Return the openstacksdk connection, which the standalone ``baremetal`` does not have."""
    if not hasattr(app.client_manager, 'sdk_connection'):
        raise exceptions.CommandError(
            "--flavor, --image and --images-from-glance need 'openstack baremetal'. With 'baremetal', use --property"
        )
    return app.client_manager.sdk_connection
