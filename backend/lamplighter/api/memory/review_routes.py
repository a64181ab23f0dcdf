"""Reviews."""

from typing import Final

from lamplighter.api.memory import review_shapes, reviews
from lamplighter.api.op import op

OPS: Final = (
    op(
        "GET",
        "/reviews",
        "reviews:read",
        reviews.index,
        review_shapes.ReviewPage,
        query=review_shapes.ReviewQuery,
    ),
    op(
        "GET",
        "/reviews/{id:int}",
        "reviews:read",
        reviews.show,
        review_shapes.ReviewCaseOut,
        problems=(404,),
    ),
    op(
        "PUT",
        "/reviews/{id:int}/resolution",
        "reviews:write",
        reviews.resolve,
        review_shapes.ReviewCaseOut,
        body=review_shapes.ResolutionIn,
        problems=(404, 409, 412),
        matches=True,
    ),
    op(
        "DELETE",
        "/reviews/{id:int}/resolution",
        "reviews:write",
        reviews.reopen,
        review_shapes.ReviewCaseOut,
        problems=(404, 409, 412),
        matches=True,
    ),
)
