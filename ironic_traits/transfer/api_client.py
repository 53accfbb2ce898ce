"""What an import or an export needs of a client of the Bare Metal API."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol


class ApiClient(Protocol):
    """A ``client.Client``, which imports this package. It describes the methods."""

    @property
    def everything(self) -> dict[str, str]:
        """The query parameters with which a list of nodes has the children of nodes, too."""

    def ask(self, method: str, path: str, document: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """Send a request, and return the document of the response."""

    def find(self, path: str) -> dict[str, Any] | None:
        """Return the document at a path; None if there is none."""

    def pages(self, path: str, key: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """Generate the items of all pages of a list."""
