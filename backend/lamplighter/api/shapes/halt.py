"""The halt."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class HaltIn(Struct):
    """Why everything is to stand still."""

    reason: Annotated[str, Meta(max_length=4000)] = ""


class Pulled(Struct):
    """One halt that stands: by whom, why, since when, and what releases it."""

    way: Literal["row", "file"]
    reason: str
    by: str
    at: str
    words: str
    release: str


class Halt(Struct):
    """Whether everything stands still; each halt in `pulled` has to be released."""

    halted: bool
    pulled: list[Pulled]
    seq: int
