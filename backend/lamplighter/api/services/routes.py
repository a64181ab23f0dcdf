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
        "Read the overall status.",
        shapes.OverviewOut,
        query=shapes.OverviewQuery,
    ),
    op(
        "GET",
        "/learned",
        "memories:read",
        services.list_learned,
        "List memory changes by sessions and decay, newest first.",
        shapes.LearnedPage,
        query=shapes.LearnedQuery,
        across=True,
    ),
    op(
        "GET",
        "/services",
        "services:read",
        services.index,
        "List services with their status.",
        shapes.ServicePage,
        query=common_shapes.PageQuery,
    ),
    op(
        "GET",
        "/services/{name}",
        "services:read",
        services.show,
        "Read the status of a service.",
        shapes.ServiceOut,
        problems=(404,),
    ),
    op(
        "GET",
        "/services/{name}/checks/results",
        "services:read",
        services.list_check_results,
        "List the check results of a service, newest first.",
        shapes.CheckResultPage,
        query=common_shapes.PageQuery,
        problems=(404,),
        deprecated_path="/services/{name}/looks",
    ),
    op(
        "GET",
        "/services/{name}/series",
        "services:read",
        services.read_series,
        "Read the results of a service's scheduled checks over time.",
        shapes.ServiceSeriesOut,
        query=shapes.SeriesQuery,
        problems=(404,),
    ),
    op(
        "GET",
        "/cooldowns",
        "cooldowns:read",
        cooldowns.index,
        "List cooldowns and their usage.",
        shapes.CooldownPage,
        query=common_shapes.PageQuery,
    ),
    op(
        "GET",
        "/cooldowns/uses",
        "cooldowns:read",
        cooldowns.uses,
        "List executed and refused actions, newest first.",
        shapes.UsePage,
        query=shapes.UseQuery,
    ),
    op(
        "POST",
        "/cooldowns/{name}/resets",
        "cooldowns:write",
        cooldowns.reset,
        "Reset the cooldowns of a service.",
        shapes.ResetOut,
        status=201,
        body=shapes.ResetIn,
        problems=(404,),
    ),
)
