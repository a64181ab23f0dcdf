"""The app: its page at every address that is not the API's, its files for ever."""

from contextlib import suppress
from pathlib import Path
from typing import Final

from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

FOREVER: Final = "public, max-age=31536000, immutable"
NO_PAGES: Final = ("favicon.ico", "robots.txt")  # machines ask for these
MISSING: Final = (
    "The app has not been built. In a checkout `make up` builds it; the API works without it."
)


class Assets(StaticFiles):
    """Files whose names change with their content."""

    def file_response(self, *given: object, **more: object) -> Response:
        """Answer with a file that never changes."""
        response = super().file_response(*given, **more)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = FOREVER
        return response


def routes(web: Path) -> list[BaseRoute]:
    """Return the routes of the app that lies in the directory `web`."""
    page = web / "index.html"

    async def app(request: Request) -> Response:
        path = request.path_params["path"]
        file = web / path
        if "/" not in path and "." in path and ".." not in path and _is_file(file):
            return FileResponse(file, headers={"Cache-Control": "no-cache"})
        if path in NO_PAGES:
            raise HTTPException(404, f"There is nothing at /{path}.")
        if not page.is_file():
            return Response(MISSING, 503, media_type="text/plain")
        return FileResponse(page, headers={"Cache-Control": "no-cache"})

    assets = Assets(directory=web / "assets", check_dir=False)
    smaller = [Middleware(GZipMiddleware, minimum_size=1_000)]
    return [
        Mount("/assets", assets, name="assets", middleware=smaller),
        Route("/{path:path}", app, name="page", methods=["GET"], middleware=smaller),
    ]


def _is_file(path: Path) -> bool:
    with suppress(OSError, ValueError):  # a name that no file can have
        return path.is_file()
    return False
