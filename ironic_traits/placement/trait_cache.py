"""The traits of the providers of nodes that a process has read, for the summaries of allocation candidates.

Reading the traits of 1,000 candidates takes the database longer than finding the candidates. So a process keeps them,
by provider and generation. They are never stale: the generation is raised in the same transaction whenever a provider's
traits change (invariant 6), and the id of a deleted provider is not used again. A search reads the generations together
with the candidates.

The one exception is a database that goes back in time: a backup is restored while the process runs, or a failover loses
writes. Then the same generation may occur again with other traits. So a process forgets all traits after MAX_AGE.
"""

import threading
import time
from collections.abc import Mapping
from typing import NamedTuple

#: Maximum number of providers in a cache. With 20 traits, one takes about 400 bytes.
MAX_PROVIDERS = 10_000
#: Seconds after which a process forgets all traits.
MAX_AGE = 600


class CachedTraits(NamedTuple):
    """The traits of a provider.

    :ivar generation: of the provider.
    :ivar names: the traits of the node, and those that clients have set on the provider.
    """

    generation: int
    names: tuple[str, ...]


class TraitCache:
    """The traits of providers. ``service.Service`` has one."""

    def __init__(self) -> None:
        self._traits: dict[int, CachedTraits] = {}
        self._lock = threading.Lock()
        self._until = 0.0

    def get(self, generations: Mapping[int, int]) -> dict[int, CachedTraits]:
        """Return the traits of those providers that are in the cache.

        :param generations: {provider id: generation}.
        :returns: {provider id: CachedTraits of this generation}.
        """
        if time.monotonic() > self._until:
            self._traits, self._until = {}, time.monotonic() + MAX_AGE
        cached = self._traits
        return {
            provider_id: traits
            for provider_id, generation in generations.items()
            if (traits := cached.get(provider_id)) is not None and traits.generation == generation
        }

    def add(self, traits: Mapping[int, CachedTraits]) -> None:
        """Add traits that were read together with the generation.

        :param traits: {provider id: CachedTraits}.
        """
        with self._lock:
            for provider_id, each in traits.items():
                # Deleted first, so that it becomes the newest entry.
                self._traits.pop(provider_id, None)
                self._traits[provider_id] = each
            while len(self._traits) > MAX_PROVIDERS:
                del self._traits[next(iter(self._traits))]
