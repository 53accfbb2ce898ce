"""Options of commands that osc-placement has: hooks of cliff."""

from cliff import hooks
from osc_lib import exceptions


class TraitList(hooks.CommandHook):
    """trait list --starts-with P --name-in A,B"""

    def get_parser(self, parser):
        parser.add_argument('--starts-with', metavar='<prefix>', help='Only traits whose name begins so')
        parser.add_argument('--name-in', metavar='<traits>', help='Only these traits, joined by commas')

    def get_epilog(self):
        return ''

    def before(self, parsed_args):
        asked = {'startswith': parsed_args.starts_with, 'in': parsed_args.name_in}
        names = [f'{operator}:{value}' for operator, value in asked.items() if value]
        if len(names) + bool(parsed_args.name) > 1:
            raise exceptions.CommandError('--name, --starts-with or --name-in is said: one of them')
        if names:
            parsed_args.name = names[0]
        return parsed_args

    def after(self, parsed_args, return_code):
        return return_code
