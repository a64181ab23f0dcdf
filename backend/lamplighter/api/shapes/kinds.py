"""The kinds of values that several shapes share."""

from typing import Annotated

from msgspec import Meta

Limit = Annotated[int, Meta(ge=1, le=200)]
Name = Annotated[str, Meta(max_length=200)]
Seq = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Words = Annotated[str, Meta(max_length=500, pattern=r"^[^\x00]*$")]
Tier = Annotated[int, Meta(ge=1, le=3)]
