"""The requests of an import that write the traits of nodes."""

from typing import Any

from ironic_traits.matching.sources import OPERATOR
from ironic_traits.transfer import differences, sources
from ironic_traits.transfer.api_client import ApiClient
from ironic_traits.transfer.documents import Item


class TraitWriter:
    """A writer of the traits of nodes in a document, by requests.

    :param source: the source of the import; None if it is plain, or the document states its sources.
    :param prune: whether the source also loses the traits of nodes without ``traits`` in the document.
    :ivar adopted: reserved sources of the document, whose traits became the operator's.
    :ivar warnings: a sentence for each node with vetoed traits.
    :ivar vetoed: the number of vetoed traits.
    """

    def __init__(self, client: ApiClient, source: str | None = None, prune: bool = False) -> None:
        self._client = client
        self._source = source
        self._prune = prune
        self.adopted: set[str] = set()
        self.warnings: list[str] = []
        self.vetoed = 0

    def write(self, item: Item, path: str, existing: Item | None, label: str) -> list[str]:
        """Write the traits of a node.

        :param item: the node in the document.
        :param path: path of the node in the API.
        :param existing: the node in the service; None if it is new.
        :param label: ``differences.label`` of the node.
        :returns: a line for each trait that was added or removed.
        :raises ironic_traits.client.Failed: the service refuses a request.
        """
        if self._source is not None:
            return self._write_sources(item, path, existing, label) if 'traits' in item or self._prune else []
        if 'trait_sources' in item:
            return self._write_sources(item, path, existing, label)
        old = (existing or {}).get('traits', [])
        if 'traits' not in item or set(item['traits']) == set(old):
            return []
        self._client.ask('PUT', f'{path}/traits', {'traits': item['traits']})
        return list(differences.traits(label, old, item['traits']))

    def _write_sources(self, item: Item, path: str, existing: Item | None, label: str) -> list[str]:
        details = self._details(path, existing)
        present, vetoes = sources.held(details), {veto['trait'] for veto in details['vetoes']}
        goals = sources.targets(item, self._source, present)
        self.adopted |= goals.adopted
        lines = self._remove_others(item, path, present, goals, label) if self._source is None else []
        # What the operator adds is no longer vetoed, so that other sources can add it after that.
        lifted = vetoes & goals.names.get(OPERATOR, set())
        vetoes -= lifted
        for source, names in sorted(goals.names.items(), key=lambda each: bool(lifted) and each[0] != OPERATOR):
            lines += self._replace(path, source, names, present.get(source, set()), vetoes, label)
        return lines

    def _details(self, path: str, existing: Item | None) -> dict[str, Any]:
        if existing is None:
            return {'traits': [], 'vetoes': []}
        return existing.get('trait_sources') or self._client.ask('GET', f'{path}/traits', query={'detail': 'true'})

    def _remove_others(
        self, item: Item, path: str, present: sources.Held, goals: sources.SourceTargets, label: str
    ) -> list[str]:
        """Remove the traits that the document does not have, and that a source holds which it does not write."""
        others = (names for source, names in present.items() if source not in goals.names)
        removed = set().union(*others).difference(item['traits'])
        for name in sorted(removed):
            self._client.ask('DELETE', f'{path}/traits/{name}')
            for names in present.values():
                names.discard(name)
        return list(differences.traits(label, removed, ()))

    def _replace(
        self, path: str, source: str, names: set[str], old: set[str], vetoes: set[str], label: str
    ) -> list[str]:
        refused = names & vetoes if source != OPERATOR else set()
        if names - refused != old:
            response = self._client.ask('PUT', f'{path}/traits', {'traits': sorted(names)}, query={'source': source})
            refused |= set(response['vetoed'])
        if refused:
            self.vetoed += len(refused)
            self.warnings.append(
                f'{label}: the source {source} cannot add vetoed traits: {", ".join(sorted(refused))}.'
            )
        return list(differences.traits(label, old, names - refused, source))
