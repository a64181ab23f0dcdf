"""Services, their cooldowns, and everything at one glance."""

from typing import Final

from lamplighter.api import common_shapes
from lamplighter.api.op import op
from lamplighter.api.services import cooldowns, services, shapes

OPS: Final = (
    op(
        "GET",
        "/overview",
        "services:read",
        services.overview,
        "Read how everything stands.",
        shapes.Overview,
        query=shapes.OverviewQuery,
    ),
    op(
        "GET",
        "/learned",
        "memories:read",
        services.learned,
        "List what was learned, newest first.",
        shapes.LearnedPage,
        query=shapes.LearnedQuery,
        across=True,
    ),
    op(
        "GET",
        "/services",
        "services:read",
        services.index,
        "List services and how each is.",
        shapes.ServicePage,
        query=common_shapes.PageQuery,
    ),
    op(
        "GET",
        "/services/{name}",
        "services:read",
        services.show,
        "Read how a service is.",
        shapes.Service,
        problems=(404,),
    ),
    op(
        "GET",
        "/services/{name}/looks",
        "services:read",
        services.looks,
        "List the results of a service's checks, newest first.",
        shapes.LookPage,
        query=common_shapes.PageQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/cooldowns",
        "cooldowns:read",
        cooldowns.index,
        "List cooldowns and how much of each is used.",
        shapes.StandingPage,
        query=common_shapes.PageQuery,
    ),
    op(
        "GET",
        "/cooldowns/uses",
        "cooldowns:read",
        cooldowns.uses,
        "List what was done and refused, newest first.",
        shapes.UsePage,
        query=shapes.UseQuery,
    ),
    op(
        "POST",
        "/cooldowns/{name}/resets",
        "cooldowns:write",
        cooldowns.reset,
        "Give a service its slots back.",
        shapes.Cleared,
        status=201,
        body=shapes.ResetIn,
        problems=(404,),
    ),
)
