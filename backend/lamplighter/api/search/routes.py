"""The search."""

from typing import Final

from lamplighter.api.op import op
from lamplighter.api.search import search, shapes

OPS: Final = (
    op(
        "GET",
        "/search",
        "memories:read",
        search.index,
        shapes.SearchResultPage,
        query=shapes.SearchQuery,
    ),
)
