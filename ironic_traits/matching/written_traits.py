"""What becomes of the traits that this service has written to nodes of a cloud, when the nodes are read.

Ironic does not say who has added a trait. So each trait that this service writes in the cloud has a record, which is
stored before the request is sent. A trait with a record is this service's own in the cloud: the source ``mirror:CLOUD``
does not hold it, and it is removed in the cloud when no source in this service holds it any more. All others are left
alone.

If another client of the cloud removes a trait that was written, it is not written again. If that client adds it again,
it is theirs. So each hold of a source in this service is written in the cloud at most once, whatever others do.
"""

import datetime
from collections.abc import Collection, Mapping
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ironic_traits.matching.sources import MIRROR, RULE, RULES

#: The request that adds the trait is about to be sent, or was, with an unknown result.
WRITING = 'writing'
WRITTEN = 'written'
#: The request that removes the trait is about to be sent, or was, with an unknown result.
REMOVING = 'removing'
#: The cloud has refused the trait, and does not have it.
REFUSED = 'refused'
#: Another client has removed the trait in the cloud. It is left to them until a source in this service adds it again.
REMOVED = 'removed'
STATES = (WRITING, WRITTEN, REMOVING, REFUSED, REMOVED)
#: In these states, the trait is this service's own if the node has it in the cloud.
OURS = frozenset((WRITING, WRITTEN, REMOVING))

#: The value of [mirror] write for the traits of all sources.
ALL = 'traits'


class Record(NamedTuple):
    """What is known about a trait that this service has written to a node of a cloud, or was about to write.

    :ivar state: one of STATES.
    :ivar since: when it got this state, or when the last request was sent.
    :ivar reason: why the cloud does not have it as the sources in this service say, as a sentence; None if it does.
    """

    state: str
    since: datetime.datetime
    reason: str | None = None


def is_written(write: str, source: str) -> bool:
    """Whether the traits of a source are written to a cloud.

    :param write: value of [mirror] write. With ``withdraw``, none are.
    """
    if source.startswith(MIRROR):
        return False
    return write == ALL or (RULES if source.startswith(RULE) else source) in write.split('+')


def ours(records: Mapping[str, Record]) -> set[str]:
    """Return the traits that are this service's own, if the node has them in the cloud.

    :param records: {trait: Record} of a node.
    """
    return {trait for trait, record in records.items() if record.state in OURS}


def after_read(
    records: Mapping[str, Record],
    present: AbstractSet[str],
    holders: Mapping[str, Collection[str]],
    moment: datetime.datetime,
    settled: datetime.datetime,
) -> dict[str, Record | None]:
    """Return the records of a node that change because the node was read in the cloud.

    :param records: {trait: Record} before.
    :param present: the traits that the node has in the cloud.
    :param holders: {trait: sources besides the mirror that hold it}.
    :param moment: the time now.
    :param settled: what was written before this time must be visible. Other servers of the cloud may be a bit behind.
    :returns: {trait: Record; None if it is deleted}.
    """
    changes = {}
    for trait, record in records.items():
        after = _after_read(record, trait in present, sorted(holders.get(trait, ())), moment, settled)
        if after != record:
            changes[trait] = after
    return changes


def after_refusal(before: Record | None, moment: datetime.datetime, reason: str) -> Record:
    """Return the record of a trait after the cloud has refused to add it.

    :param before: the record before the request; None if there was none.
    """
    # If an earlier request may have added it, the cloud may have it. It is then removed when no source holds it.
    return Record(WRITING if before and before.state in OURS else REFUSED, moment, reason)


def _after_read(
    record: Record, is_present: bool, holders: list[str], moment: datetime.datetime, settled: datetime.datetime
) -> Record | None:
    if record.state == REFUSED:
        # If another client of the cloud has added it, it is theirs.
        return None if is_present else record
    if record.state == REMOVED:
        if not holders:
            return None
        return record._replace(reason=None if is_present else record.reason or _removed(holders))
    if is_present:
        # The process that sent the request may have been killed before it got the response.
        return Record(WRITTEN, moment) if record.state == WRITING else record
    if record.state == WRITING or record.since > settled:
        return record
    if record.state == REMOVING or not holders:
        return None
    return Record(REMOVED, moment, _removed(holders))


def _removed(holders: list[str]) -> str:
    return f'Another client has removed it in the cloud. In this service it is held by {", ".join(holders)}.'
