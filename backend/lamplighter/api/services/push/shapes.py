"""The key of a push check, and the signals of its job."""

from msgspec import Struct

from lamplighter.api.common_shapes import page_of, public_shape
from lamplighter.domain.services.checks.push import PushSignal


class PushKeyOut(Struct):
    """A new key and the URL that the job requests; both are shown only once."""

    service: str
    check: str
    key: str
    url: str


@public_shape(PushSignal)
class PushSignalOut(Struct):
    """A signal of a job, with its body."""


PushSignalPage = page_of(PushSignalOut, "A page of the signals of a push check, newest first.")
