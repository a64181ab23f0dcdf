"""Shapes of the notebook: its pages in lists, in full and as input."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lamplighter.api.common_shapes import ShortText, public_shape
from lamplighter.usecases.notebook.decide import PageListing

MAX_TEXT_CHARS = 150_000
"""A page of so many characters, however they are encoded, is a body of less than 1 MB."""

WholeText = Annotated[str, Meta(max_length=MAX_TEXT_CHARS, pattern=r"^[^\x00]*$")]


@public_shape(PageListing, without=["reasons"], written_at=("reasons", list[str]))
class PageSummaryOut(Struct):
    """A page: how many memories it states, and why it needs a review; empty if it needs none.

    `excerpt` is a line that a query found, empty without a query.
    """


class NotebookQuery(Struct):
    """A text to find in pages; default: all pages."""

    q: ShortText = ""


class NotebookOut(Struct):
    """The pages of the notebook, by their paths.

    `index_limit` is the maximum size of MEMORY.md in bytes, null if the notebook is turned off.
    """

    pages: list[PageSummaryOut]
    index_limit: int | None


class PageTextOut(Struct):
    """A page as Markdown. `digest` is the state of its file, and its ETag."""

    path: str
    text: str
    digest: str


class PageOut(PageTextOut):
    """A page, its stored text, and the text before that.

    Without an unread edit `stored` is the text. A caller that is bound to a project gets neither.
    """

    stored: str
    previous: str
    written_at: str | None


class PageIn(Struct):
    """The whole text of a page."""

    text: WholeText


class PageWritten(PageTextOut):
    """A page after it was written: how many edits were read, and which pages need a review."""

    edits: int
    for_review: dict[str, list[str]]


class NotebookResolutionIn(Struct):
    """The decision on pages that need a review: accept the files, or discard them.

    Without `pages` it applies to all of them.
    """

    resolution: Literal["accept", "discard"]
    pages: list[str] = []
