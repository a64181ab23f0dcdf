"""Logins as JSON, with the browser in place of its User-Agent."""

from typing import Final

from lamplighter.domain.access.access import Login, describe_browser
from lamplighter.formats.serialize import Writer

serialize_login: Final = Writer[Login](id=("browser", lambda login: describe_browser(login.agent)))
