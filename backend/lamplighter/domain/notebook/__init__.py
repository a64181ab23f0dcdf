"""The notebook: the pages of memories, and the meaning of an edit of a page."""

from typing import Final

INDEX: Final = "MEMORY"
