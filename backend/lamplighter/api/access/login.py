"""Log in with a one-time code, read the current login, and log out."""

from typing import Any, Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from lamplighter.api.access import login_page, shapes
from lamplighter.api.access.callers import LoginAttempts, callers_of, cookie_name
from lamplighter.api.context import ApiContext, api_context
from lamplighter.api.op import ANY, operation
from lamplighter.api.responses import problem
from lamplighter.domain.access.access import Caller
from lamplighter.domain.errors import Conflict
from lamplighter.usecases.access import access

FORM_TYPE: Final = "application/x-www-form-urlencoded"
INVALID_CODE: Final = (
    "This code is invalid or expired. A code works once, within one hour. Run "
    "`lamplighter login` for a new one."
)
TOO_MANY_CODES: Final = "Too many invalid codes. Wait one minute, then try again."


async def enter(request: Request) -> Response:
    """GET /login: the page to log in by; with a code, log in at once."""
    code = request.query_params.get("code")
    if code is None or not _is_navigation(request):
        return await _redirect(request) or login_page.answer()
    return await _redeem(request, code)


async def redeem(request: Request) -> Response:
    """POST /login: log in with the code that was typed."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != FORM_TYPE:
        raise HTTPException(
            415, f"The body must be a form. Send it with Content-Type: {FORM_TYPE}."
        )
    typed = parse_qs((await request.body()).decode("utf-8", "replace"))
    code, onward = (typed.get(name, [""])[0] for name in ("code", "next"))
    return await _redeem(request, code, onward=onward or "/")


@operation("GET", "/login", ANY, shapes.CallerOut)
async def show_identity(caller: Caller) -> dict[str, Any]:
    """Read the identity of the caller."""
    return {"kind": caller.kind, "name": caller.name, "scopes": list(caller.scopes)}


@operation("DELETE", "/login", ANY, None, problems=(409,))
async def log_out(request: Request, here: ApiContext, caller: Caller) -> Response:
    """Log out."""
    if caller.kind != "login":
        raise Conflict(
            "This request uses a token, not a login. Revoke the token to end its access."
        )
    await access.log_out(here.db, caller.id, now=here.now())
    recheck_streams(request)
    response = Response(status_code=204)
    response.delete_cookie(cookie_name(request.scope), httponly=True, samesite="strict")
    return response


def recheck_streams(request: Request) -> None:
    """Let every stream of this process check whether its caller may still follow."""
    callers_of(request).send_away()
    api_context(request).hub.wake()


async def _redeem(request: Request, code: str, *, onward: str = "/") -> Response:
    here, agent = api_context(request), request.headers.get("user-agent", "")
    secret = await access.redeem(here.db, code, agent, now=here.now())
    if secret is None:
        return await _redirect(request) or _refusal(request, code, onward)
    response = login_page.redirect_page(onward)
    response.set_cookie(
        cookie_name(request.scope),
        secret,
        max_age=round(access.LOGIN_LIFE.total_seconds()),
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return response


def _refusal(request: Request, code: str, onward: str) -> Response:
    address = request.client.host if request.client else ""
    attempts: LoginAttempts = request.app.state.attempts
    if wait := attempts.failed(address, code):
        return _show_again(request, 429, TOO_MANY_CODES, onward, **{"Retry-After": str(wait)})
    return _show_again(request, 401, INVALID_CODE, onward)


async def _redirect(request: Request) -> Response | None:
    """Redirect a browser that is already logged in to the app."""
    known = await callers_of(request).visitor(request.scope, request.headers)
    return login_page.redirect_page("/") if known else None


def _show_again(request: Request, status: int, words: str, onward: str, **headers: str) -> Response:
    if login_page.accepts_html(request.headers):
        return login_page.answer(status, words, onward=onward, more=headers)
    return problem(status, words, headers=headers)


def _is_navigation(request: Request) -> bool:
    """Return whether a person opened the link: a prefetch or an image request uses up no code."""
    headers = request.headers
    seen = headers.get("sec-fetch-dest", "document") == "document"
    return request.method == "GET" and seen and "sec-purpose" not in headers
