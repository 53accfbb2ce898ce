"""The part of the client library that changes many nodes with one request."""

from typing import Any

from ironic_traits.client.requests import Requests, without_none


class BulkEdits(Requests):
    """Edits of the traits of many nodes, and actions on many nodes."""

    def edit_traits(
        self, digest: str | None = None, limit: int | None = None, marker: str | None = None, **edit: Any
    ) -> dict[str, Any]:
        """Preview or execute one edit of the traits of many nodes.

        Without ``digest``, return a preview, and change nothing. With the ``digest`` of a preview, execute the same
        edit in one transaction::

            edit = {'add': ['CUSTOM_B'], 'where': {'traits': ['CUSTOM_A']}}
            preview = client.edit_traits(**edit)
            client.edit_traits(**edit, digest=preview['digest'])

        :param digest: of a preview; None to get a preview.
        :param limit: maximum number of nodes in a preview.
        :param marker: uuid of the last node of the previous page.
        :param edit: ``add``, ``remove``, ``rename``, ``source``; and ``where`` (filters of nodes; {} for all) or
            ``nodes`` (uuids and names).
        :returns: the response of POST /v1/traits/edits.
        :raises Failed: the selected nodes or their traits are not those of the preview (409; it has ``digest``), or the
            service refuses the edit. Nothing has changed.
        """
        return self.ask('POST', '/v1/traits/edits', _body(digest, edit), without_none(limit=limit, marker=marker))

    def act_on_nodes(self, action: str, digest: str | None = None, **request: Any) -> dict[str, Any]:
        """Preview or execute one action on many nodes.

        Without ``digest``, return a preview, and change nothing. With the ``digest`` of a preview, execute the same
        action, on one node after another::

            request = {'action': 'provide', 'where': {'provision_state': 'manageable'}}
            preview = client.act_on_nodes(**request)
            report = client.act_on_nodes(**request, digest=preview['digest'])
            problems = [node for node in report['nodes'] if node['outcome'] == 'refused']

        :param action: ``maintenance``, ``unset_maintenance``, ``manage``, ``provide``, ``inspect``, ``adopt``,
            ``abort`` or ``unhold``.
        :param digest: of a preview; None to get a preview.
        :param request: ``where`` (filters of nodes; {} for all) or ``nodes`` (uuids and names), and ``reason``, that of
            a maintenance.
        :returns: the response of POST /v1/nodes/actions. A node that refuses the action does not stop the others.
        :raises Failed: the selected nodes or their states are not those of the preview (409; it has ``digest``), or the
            service refuses the request. Nothing has changed, unless the service failed meanwhile (500 or more).
        """
        return self.ask('POST', '/v1/nodes/actions', _body(digest, {'action': action, **request}))


def _body(digest: str | None, request: dict[str, Any]) -> dict[str, Any]:
    """Return the body of a request for a preview, or for what the preview with the digest has shown."""
    return without_none(**request) | ({'preview': True} if digest is None else {'digest': digest})
