"""The records of the traits that were written to a cloud, on all short sequences that hypothesis finds."""

import datetime

import hypothesis
from hypothesis import strategies as st

from ironic_traits.matching import written_traits
from ironic_traits.matching.written_traits import OURS, REMOVED, REMOVING, WRITING, WRITTEN, Record

#: Events in any order: the source here, or another client there, adds or removes the trait; the node is read; the
#: writer sends a request, which succeeds or is refused, or its process is killed before or after it.
EVENTS = ('hold', 'release', 'add', 'remove', 'read', 'write', 'refused', 'killed before', 'killed after')


class Story:
    """A trait of a node in this service ("here") and in the cloud ("there"), with a mirror and its writer."""

    def __init__(self):
        self.moment = datetime.datetime.fromisoformat('2026-01-01T00:00:00')
        self.held_since = None
        self.is_there = self.is_theirs = self.is_held_by_mirror = False
        self.record = None
        self.puts = self.holds = 0

    def tell(self, event):
        """Apply an event."""
        self.moment += datetime.timedelta(seconds=1)
        if event == 'hold' and self.held_since is None:
            self.held_since = self.moment
            self.holds += 1
        elif event == 'release':
            self.held_since = None
        elif event == 'add' and not self.is_there:
            self.is_there = True
            # An earlier removal by the other client is invisible if the node was not read in between.
            self.is_theirs = self.record is None or self.record.state not in OURS
        elif event == 'remove':
            self.is_there = self.is_theirs = False
        elif event == 'read':
            self.read()
        elif event in ('write', 'refused', 'killed before', 'killed after'):
            self.write(event)

    def read(self):
        """Read the node in the cloud."""
        records = {'T': self.record} if self.record else {}
        holders = {'T': ['operator']} if self.held_since else {}
        present = {'T'} if self.is_there else set()
        ours = written_traits.ours(records)
        changes = written_traits.after_read(records, present, holders, self.moment, self.moment)
        self.record = changes.get('T', self.record)
        self.is_held_by_mirror = bool(present - ours)

    def write(self, event):
        """Send a request, if one is pending, as ``mirror_written_traits.pending`` decides."""
        self.read()
        state = self.record.state if self.record else None
        is_new = state != REMOVED or (self.held_since or self.moment) > self.record.since
        if self.held_since and not self.is_held_by_mirror and state != WRITTEN and is_new:
            self.request(WRITING, event)
        elif not self.held_since and state in OURS:
            self.request(REMOVING, event)
        elif not self.held_since:
            self.record = None

    def request(self, state, event):
        """Send a request."""
        before, self.record = self.record, Record(state, self.moment)
        self.puts += state == WRITING
        if event == 'refused':
            if state == WRITING:
                self.record = written_traits.after_refusal(before, self.moment, 'No.')
        elif event != 'killed before':
            # Only traits that this service has written are removed.
            assert state == WRITING or not self.is_theirs
            self.is_there = state == WRITING
            if event == 'write':
                self.record = Record(WRITTEN, self.moment) if state == WRITING else None


@hypothesis.example(['hold', 'killed after', 'release', 'refused', 'hold', 'refused', 'release'])
@hypothesis.given(st.lists(st.sampled_from(EVENTS), max_size=30))
def test_stories(events):
    """Only written traits are removed, and each hold is written once if no request fails."""
    story = Story()
    for event in events:
        story.tell(event)
    if not {'refused', 'killed before', 'killed after'} & set(events):
        assert story.puts <= story.holds
    for _ in range(3):
        story.tell('write')
    # At the end, both sides agree, or there is a conflict.
    is_conflict = bool(story.record and story.record.reason)
    assert is_conflict == bool(story.held_since and not story.is_there)
    if not story.held_since:
        assert story.is_there == story.is_theirs
    assert story.puts <= len(events) + 3
