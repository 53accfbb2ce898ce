"""openstack baremetal match"""

from osc_lib.cli import format_columns
from osc_lib.command import command

from ironic_traits import osc
from ironic_traits.osc import explanations, requests

_COLUMNS = ('UUID', 'Name', 'Resource Class', 'Traits')
_EXPLAINED = ('Kind', 'Clauses', 'Nodes', 'Name')
_HELD = ('Resource Provider', 'Satisfied', 'Missing', 'Forbidden')


class Match(command.Lister):
    """Find the nodes that match what a flavor, an image and traits ask for.

    With --explain, what keeps nodes from matching: how many each requirement rules out, and how many it alone; without
    which requirements how many would match; and the nodes that nearly do. With --instance, whether what the instance
    holds matches, before it is rebuilt with another image.
    """

    #: What is printed for people in place of a table; None when the table says it all.
    _explanation = None

    def get_parser(self, prog_name):
        parser = super().get_parser(prog_name)
        requests.add_options(parser)
        parser.add_argument('--limit', metavar='<limit>', type=int, help='Most nodes')
        instead = parser.add_mutually_exclusive_group()
        instead.add_argument(
            '--instance', metavar='<instance>', help='UUID of an instance: look at what it holds, instead'
        )
        instead.add_argument('--explain', action='store_true', help='Say why nodes do not match, instead')
        return parser

    def take_action(self, parsed_args):
        wanted = requests.request(self.app, parsed_args)
        if parsed_args.limit is not None:
            wanted['limit'] = parsed_args.limit
        if parsed_args.instance is not None:
            wanted['instance_uuid'] = parsed_args.instance
        if parsed_args.explain:
            wanted['explain'] = True
        client = osc.client(self.app)
        found = client.match(**wanted)
        for warning in found['warnings']:
            self.log.warning(warning)
        if parsed_args.explain:
            self._explanation = found['explanation']
            return _EXPLAINED, list(_explained(found['explanation']))
        if parsed_args.instance is not None:
            return _HELD, list(_held(found))
        if not found['nodes']:
            self._explain(client.match(**wanted | {'explain': True})['explanation'])
        return _COLUMNS, [
            (node['uuid'], node['name'], node['resource_class'], format_columns.ListColumn(node['traits']))
            for node in found['nodes']
        ]

    def produce_output(self, parsed_args, column_names, data):
        """Print tables for people when an explanation is asked for, and none without rows."""
        if parsed_args.formatter == 'table':
            if self._explanation and not parsed_args.columns:
                self._print_explanation(parsed_args)
                return 0
            if not data:
                return 0
        return super().produce_output(parsed_args, column_names, data)

    def _explain(self, explanation):
        """Say why nothing matches; not to stdout, which is for the nodes."""
        for sentence in (explanations.headline(explanation), *explanations.sentences(explanation)):
            print(sentence, file=self.app.stderr)

    def _print_explanation(self, parsed_args):
        output = self.app.stdout
        print(explanations.headline(self._explanation), file=output)
        for make in (explanations.requirement_rows, explanations.nearest_rows):
            columns, rows = make(self._explanation)
            if rows:
                self.formatter.emit_list(columns, rows, output, parsed_args)
        for sentence in explanations.relaxations(self._explanation):
            print(sentence, file=output)


def _held(found):
    for provider in found['providers']:
        missing = [*provider['missing'], *(' or '.join(names) for names in provider.get('missing_any', []))]
        # One provider may have what another one lacks: it is said of all of them together.
        lists = (format_columns.ListColumn(names) for names in (missing, provider['forbidden']))
        yield provider['uuid'], found['satisfied'], *lists


def _explained(explanation):
    def names(clauses):
        return format_columns.ListColumn(clauses)

    yield 'considered', names([]), explanation['considered'], None
    yield 'matched', names([]), explanation['matched'], None
    for clause in explanation['clauses']:
        if clause['rejected']:
            yield 'rejected', names([clause['clause']]), clause['rejected'], None
            yield 'rejected only', names([clause['clause']]), clause['rejected_only'], None
    for relaxation in explanation['relaxations']:
        yield 'without', names(relaxation['drop']), relaxation['nodes'], None
    for miss in explanation['near_misses']:
        yield 'near miss', names(miss['rejected_by']), miss['node'], miss.get('name')
