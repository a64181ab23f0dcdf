"""A desk on a database, and those who speak at it."""

from typing import Any

from lamplighter.domain.access import SESSION_SCOPES, Caller
from lamplighter.domain.agent import Agent
from lamplighter.domain.redact import Redactor
from lamplighter.domain.service import Service, Services
from lamplighter.domain.session import Plan, Session
from lamplighter.mcp.desk import Desk
from lamplighter.mcp.tools import tools_of
from lamplighter.repository import Database, sessions, writing
from lamplighter.usecases.toolbox import Answer, Tools

from conftest_moment import NOON
