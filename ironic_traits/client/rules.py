"""The part of the client library that runs inspection rules."""

from collections.abc import Iterator
from typing import Any

from ironic_traits.client.requests import Failed, Requests

_OUTDATED = 'baremetal.inspection.outdated'


class RuleRuns(Requests):
    """Previews of inspection rules, and runs over the stored data of nodes."""

    def preview_rules(self, **request: Any) -> Iterator[dict[str, Any]]:
        """Generate the pages of a preview: what inspection rules would do on nodes.

        ::

            for page in client.preview_rules(rules=[rule], where={'resource_class': 'gold'}):
                print(page['totals'])

        :param request: ``rules`` (documents of rules that are not in force), ``without`` (names of rules in force to
            leave out); ``where`` (filters of nodes; {} for all) or ``nodes`` (uuids and names), ``limit`` (nodes of
            a page), ``marker``; or ``inventory`` (data of an inspection) and ``node`` (fields) instead of nodes.
        :returns: responses of POST /v1/inspection_rules/preview.
        :raises Failed: the service refuses the preview; or the rules in force, the nodes or their data have changed
            since the first page (409).
        """
        digest = None
        for page in self._pages('/v1/inspection_rules/preview', request):
            if digest not in (None, page.get('digest')):
                raise _outdated(page['digest'])
            digest = page.get('digest')
            yield page

    def apply_rules(self, digest: str, **request: Any) -> Iterator[dict[str, Any]]:
        """Run the inspection rules in force over the stored data of nodes, while the result is iterated.

        ::

            page = next(client.preview_rules(where={}))
            for done in client.apply_rules(page['digest'], where={}):
                print(done['applied'], done['changed'])

        After a failure, the changes so far stay. To continue, run it again, or pass the ``next`` of the last response
        as ``marker``.

        :param digest: of a preview of the same nodes, with neither ``rules`` nor ``without``.
        :param request: ``where`` or ``nodes``, ``limit`` (nodes of one response), ``marker``.
        :returns: responses of POST /v1/inspection_rules/apply.
        :raises Failed: the rules in force, the nodes or their data are not those of the preview (409; it has
            ``digest``), or the service refuses the request.
        """
        yield from self._pages('/v1/inspection_rules/apply', {'digest': digest, **request})

    def _pages(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        while True:
            page = self.ask('POST', path, body)
            yield page
            if not page.get('next'):
                return
            body = body | {'marker': page['next']}


def _outdated(digest: str) -> Failed:
    message = 'The rules in force, the selected nodes or the data of their inspections have changed in the meantime.'
    return Failed(409, 'Conflict', {'error_message': message, 'code': _OUTDATED, 'digest': digest})
