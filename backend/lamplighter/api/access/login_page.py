"""The login page: one file that needs nothing else, with a policy for its own style.

It contains the typeface of the app: no file of the app is served before the login.
"""

import base64
import hashlib
import html
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse

from lamplighter.assets import WEB

_PAGE: Final = Path(__file__).with_name("login.html").read_text(encoding="utf-8")
_FONT: Final = "assets/inter-latin-wght-normal-*.woff2"
_FACE: Final = """@font-face {{
  font-family: "Inter";
  src: url("data:font/woff2;base64,{}") format("woff2");
  font-weight: 100 900;
}}
"""


def digest_of(style: str) -> str:
    """Return the SHA-256 of a style, as a policy names it."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()


@cache
def font_face() -> str:
    """Return the typeface of the app as a style, or an empty text if the app is not built."""
    for file in WEB.glob(_FONT):
        return _FACE.format(base64.b64encode(file.read_bytes()).decode())
    return ""


@cache
def headers() -> Mapping[str, str]:
    """Return the headers of the page; its policy allows its own two styles."""
    own = _PAGE.partition("<style>")[2].partition("</style>")[0]
    hashes = " ".join(f"'sha256-{digest_of(style)}'" for style in (own, font_face()))
    policy = (
        f"default-src 'none'; style-src {hashes}; font-src data:; img-src data:; "
        "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    )
    return {
        "Content-Security-Policy": policy,
        "Cache-Control": "no-store",
        "Referrer-Policy": "same-origin",  # no-referrer makes our own form send Origin: null
    }


_LOCAL_PATH: Final = re.compile(r"/(?![/\\])[\w/?&=%.,:+~-]*", re.ASCII)
_ERROR: Final = '<p class="error" id="error" role="alert">{}</p>'
_BEFORE, _, _rest = _PAGE.partition("<!-- form -->\n")
_FORM, _, _AFTER = _rest.partition("<!-- end -->\n")
_DESCRIBED: Final = 'aria-describedby="hint"'
_WRONG: Final = 'aria-invalid="true" aria-describedby="error hint"'


def accepts_html(request: Headers) -> bool:
    """Whether the client can show a page."""
    return "text/html" in request.get("accept", "")


def answer(
    status: int = 200,
    error: str = "",
    *,
    onward: str = "/",
    more: Mapping[str, str] | None = None,
) -> HTMLResponse:
    """Return the login page; `onward` is the page to open after the login, `more` are headers."""
    form = _FORM.replace("{onward}", html.escape(onward))
    if error:
        said = _ERROR.format(html.escape(error))
        form = form.replace(_DESCRIBED, _WRONG).replace("<!-- error -->", said)
    page = _BEFORE.replace("<style>", f"<style>{font_face()}</style>\n<style>", 1) + form + _AFTER
    return HTMLResponse(page, status, headers={**headers(), **(more or {})})


def redirect_page(address: str, title: str = "Logged in", status: int = 200) -> HTMLResponse:
    """Return a page that redirects itself to an address of this app.

    An HTTP redirect does not work here: after a redirect that began on another site, a browser does
    not send a cookie that was just set (SameSite=Strict).
    """
    to = html.escape(address if _LOCAL_PATH.fullmatch(address) else "/")
    head = f'<meta http-equiv="refresh" content="0;url={to}">\n</head>'
    words = f'<h1>{html.escape(title)}</h1>\n<p><a href="{to}">Continue to Lamplighter</a></p>\n'
    page = _BEFORE.replace("</head>", head) + words + _AFTER
    return HTMLResponse(page, status, headers=headers())
