"""The login page: one file that needs nothing else, with a policy for its own style."""

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse

_PAGE: Final = Path(__file__).with_name("login.html").read_text(encoding="utf-8")
_STYLE: Final = _PAGE.partition("<style>")[2].partition("</style>")[0]
_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
CSP: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; img-src data:; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "Cache-Control": "no-store",
    "Referrer-Policy": "same-origin",  # with none at all a form of ours is sent by Origin: null
}
_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[\w/?&=%.,:+~-]*", re.ASCII)
_ERROR: Final = '<p class="error" id="error" role="alert">{}</p>'
_BEFORE, _, _rest = _PAGE.partition("<!-- form -->\n")
_FORM, _, _AFTER = _rest.partition("<!-- end -->\n")
_DESCRIBED: Final = 'aria-describedby="hint"'
_WRONG: Final = 'aria-invalid="true" aria-describedby="error hint"'


def accepts_html(headers: Headers) -> bool:
    """Whether the client can show a page."""
    return "text/html" in headers.get("accept", "")


def answer(
    status: int = 200,
    error: str = "",
    *,
    onward: str = "/",
    headers: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Answer with the page to log in by; `onward` is where it leads then."""
    form = _FORM.replace("{onward}", html.escape(onward))
    if error:
        said = _ERROR.format(html.escape(error))
        form = form.replace(_DESCRIBED, _WRONG).replace("<!-- error -->", said)
    return HTMLResponse(_BEFORE + form + _AFTER, status, headers={**_HEADERS, **(headers or {})})


def redirect_page(address: str, title: str = "Logged in", status: int = 200) -> HTMLResponse:
    """Answer with a page that redirects itself to an address of this app.

    It is no redirect: after one that began on another site a browser would not
    show the cookie it has just been given (SameSite=Strict).
    """
    to = html.escape(address if _LOCAL_PATH.fullmatch(address) else "/")
    head = f'<meta http-equiv="refresh" content="0;url={to}">\n</head>'
    words = f'<h1>{html.escape(title)}</h1>\n<p><a href="{to}">Continue to Lamplighter</a></p>\n'
    page = _BEFORE.replace("</head>", head) + words + _AFTER
    return HTMLResponse(page, status, headers=_HEADERS)
