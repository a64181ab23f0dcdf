"""The context of the notebook: the tree on disk, and the size of the index."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.limits import INDEX_BYTES
from lamplighter.notebook.git import GitHistory
from lamplighter.notebook.tree import NotebookTree
from lamplighter.usecases.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class NotebookContext(Context):
    """The context for writing and reading the notebook; `services` are the declared names.

    `history` commits the pages to git, None if not configured.
    """

    tree: NotebookTree
    index_bytes: int = INDEX_BYTES
    services: Callable[[], Sequence[str]] = tuple
    history: GitHistory | None = None


@dataclass(slots=True)
class SyncResult:
    """The result of one run: the acts it recorded, pages written and removed, and pages for review.

    `read` are the pages whose files were changed by a person.
    `needs_review` are all pages of the open review: those from this or an earlier run, and those
    with an unknown tag. `ignored` are files that cannot be read as pages, with the reason.
    `unfinished` means that an editor saved a moment ago: nothing was read or written.
    """

    act: int | None = None
    edits: int = 0
    read: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    for_review: dict[str, tuple[str, ...]] = field(default_factory=dict)
    needs_review: Mapping[str, Sequence[str]] = field(default_factory=dict)
    learned: list[str] = field(default_factory=list)
    ignored: dict[str, str] = field(default_factory=dict)
    unfinished: bool = False


ACTION: Final = "notebook"
"""The action of a notebook edit in the journal."""
