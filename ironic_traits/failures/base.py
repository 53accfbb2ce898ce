"""The base of the failures that clients see."""

from typing import Any

#: Maximum length of a message, in characters.
MAX_LENGTH = 2000


class Failure(Exception):
    """A failure that is reported to the client.

    :param facts: the values for the placeholders in ``text``.
    :cvar status: HTTP status.
    :cvar code: code for programs. It never changes.
    :cvar text: message, with placeholders.
    :ivar facts: the same values.
    """

    status = 500
    code = 'baremetal.internal_error'
    text = '{reason}'
    #: Further keys of the body, next to the message: {key: value}.
    beside: dict[str, Any] = {}
    #: Whether Ironic reports this before a controller is reached. The body has a different format then.
    routing = False
    #: The Allow header of the response; None for no header.
    allow: str | None = None
    #: The Retry-After header of the response, in seconds; None for no header.
    retry_after: int | None = None

    def __init__(self, **facts: Any) -> None:
        self.facts = facts
        # The message may quote the request, which may be of any length.
        super().__init__(self.text.format(**facts)[:MAX_LENGTH])


class InternalError(Failure):
    """A bug in the service. The log has the traceback, with the request id."""

    text = 'The service failed. Its log has the cause, with the request id of this response.'


class Outdated(Failure):
    """What a request is about is not what its preview was about.

    :param digest: the digest that a preview has now.
    """

    status = 409

    def __init__(self, digest: str) -> None:
        super().__init__(digest=digest)
        self.beside = {'digest': digest}


class InvalidInput(Failure):
    """A value in the request is invalid."""

    status = 400
    code = 'baremetal.invalid_input'
