"""Reads the inspection data of nodes in a cloud, once for each inspection."""

import logging
import time

import orjson

from ironic_traits import failures
from ironic_traits.context import Context
from ironic_traits.deploy import inspection_data
from ironic_traits.deploy.inspection_data import InspectionData
from ironic_traits.inventory.mirrored import mirrored_inspections
from ironic_traits.inventory.mirrored.mirror_clouds import Turn
from ironic_traits.inventory.mirrored.mirrored_inspections import CloudInspection
from ironic_traits.mirror.cloud import Cloud, Document, NotAllowed, NotInCloud

LOG = logging.getLogger(__name__)

#: The minor version that brought the inventory of a node.
SINCE = 81
#: Maximum number of requests in a step. Between two steps, the mirror reads changed nodes.
_AT_ONCE = 20
#: Seconds until the next request, after a response that the mirror may not read inspection data.
_PAUSE = 3600


class InspectionReader:
    """The reader of one cloud."""

    def __init__(self, context: Context, turn: Turn, cloud: Cloud) -> None:
        self._context, self._turn, self._cloud = context, turn, cloud
        self._paused_until = 0.0

    def read(self) -> bool:
        """Store the data of some inspections. Return whether there are more."""
        if time.monotonic() < self._paused_until or self._cloud.minor < SINCE:
            return False
        inspections = mirrored_inspections.unread(self._context, self._turn.cloud, _AT_ONCE)
        for inspection in inspections:
            try:
                data = self._data(inspection)
            except NotAllowed as error:
                LOG.warning('Data of inspections in cloud %s is not read: %s', self._turn.cloud, error)
                self._paused_until = time.monotonic() + _PAUSE
                return False
            self._store(inspection, data)
        return len(inspections) == _AT_ONCE

    def _data(self, inspection: CloudInspection) -> InspectionData | None:
        """Return the data of an inspection; None if the cloud has no data, or the data is invalid in this service."""
        try:
            document = self._cloud.get(f'/nodes/{inspection.uuid}/inventory')
        except NotInCloud:
            return None
        try:
            self._check(document)
            return inspection_data.read_client_data(document)
        except inspection_data.Invalid as error:
            LOG.warning('Data of node %s in cloud %s is left out: %s', inspection.uuid, self._turn.cloud, error)
            return None

    def _check(self, document: Document) -> None:
        """Raise Invalid if the API would refuse the document before it reads the data."""
        try:
            text = orjson.dumps(document)
        except TypeError as error:
            # Such as a number of more than 64 bits.
            raise inspection_data.Invalid(f'It cannot be stored: {error}.') from None
        limit = self._context.conf.inspection.max_data_size
        if len(text) > limit:
            raise inspection_data.Invalid(f'It has {len(text)} bytes; [inspection] max_data_size is {limit}.')
        if b'\\u0000' in text:
            raise inspection_data.Invalid('It contains a NUL character.')

    def _store(self, inspection: CloudInspection, data: InspectionData | None) -> None:
        try:
            mirrored_inspections.store(self._context, self._turn, inspection, data)
        except failures.Failure as failure:
            LOG.warning('Data of node %s in cloud %s is left out: %s', inspection.uuid, self._turn.cloud, failure)
            mirrored_inspections.store(self._context, self._turn, inspection, None)
