"""Writes the allocations of consumers to another Placement through its API, for many consumers in a request."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ironic_traits.placement.snapshots import Consumer
from ironic_traits.placement_transfer.reading import Reader
from ironic_traits.placement_transfer.remote import TYPES_SINCE, Refused, Remote, repeated

#: Maximum number of consumers in a request, which is one transaction there.
BATCH = 50


class ConsumerWriter:
    """A writer of consumers.

    :param reader: of this Placement.
    """

    def __init__(self, remote: Remote, reader: Reader) -> None:
        self._remote = remote
        self._reader = reader

    def write(self, consumers: Iterable[Consumer], present: Mapping[str, Consumer]) -> dict[str, str]:
        """Write consumers.

        :param consumers: the consumers to write.
        :param present: those that were read there, by uuid.
        :returns: {uuid: why it cannot be written}.
        """
        # Below version 1.38, requests cannot have a consumer type. From this version on, they must.
        typed = [each for each in consumers if self._is_typed(each)]
        untyped = [each for each in consumers if not self._is_typed(each)]
        return self._write_all(typed, present) | self._write_all(untyped, present)

    def delete(self, consumers: Sequence[Consumer]) -> dict[str, str]:
        """Delete the allocations of consumers.

        :param consumers: consumers that were read there.
        :returns: {uuid: why it cannot be deleted}.
        """
        present = {consumer.uuid: consumer for consumer in consumers}
        return self._write_all(consumers, present, are_wanted=False)

    def _is_typed(self, consumer: Consumer) -> bool:
        return bool(consumer.consumer_type) and self._remote.minor >= TYPES_SINCE

    def _write_all(
        self, consumers: Sequence[Consumer], present: Mapping[str, Consumer], are_wanted: bool = True
    ) -> dict[str, str]:
        problems: dict[str, str] = {}
        for start in range(0, len(consumers), BATCH):
            batch = consumers[start : start + BATCH]
            try:
                self._post(batch, present, are_wanted)
            except Refused:
                # One refused consumer causes the refusal of all.
                for consumer in batch:
                    self._write_one(consumer, present.get(consumer.uuid), are_wanted, problems)
        return problems

    def _write_one(
        self, consumer: Consumer, present: Consumer | None, is_wanted: bool, problems: dict[str, str]
    ) -> None:
        def post(current: Consumer | None) -> None:
            if is_wanted or current:
                self._post([consumer], {consumer.uuid: current}, is_wanted)

        try:
            repeated(post, present, lambda refused: self._reader.consumer(consumer.uuid))
        except Refused as refused:
            if refused.is_fatal:
                raise
            problems[consumer.uuid] = str(refused)

    def _post(self, consumers: Sequence[Consumer], present: Mapping[str, Consumer | None], are_wanted: bool) -> None:
        is_typed = are_wanted and self._is_typed(consumers[0])
        documents = {}
        for consumer in consumers:
            existing = present.get(consumer.uuid)
            document = {
                'allocations': self._allocations(consumer) if are_wanted else {},
                'project_id': consumer.project_id,
                'user_id': consumer.user_id,
                'consumer_generation': existing.generation if existing else None,
            }
            if is_typed:
                document['consumer_type'] = consumer.consumer_type
            documents[self._reader.spelling(consumer.uuid)] = document
        minor = None if is_typed else min(self._remote.minor, TYPES_SINCE - 1)
        self._remote.send('POST', '/allocations', documents, minor)

    def _allocations(self, consumer: Consumer) -> dict[str, dict[str, Any]]:
        return {
            self._reader.spelling(provider): {'resources': dict(resources)}
            for provider, resources in consumer.resources.items()
        }
