"""The agents in `lamplighter.toml`, parsed strictly: each error has its place.

`[agents.NAME]` sets the project of a client and its permissions; `[[agents.NAME.save_rules]]` and
`[[agents.NAME.inject_rules]]` are its own tool hooks.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from lamplighter.config.hooks import TABLES, TomlSheet, TomlTable, read_hook_table
from lamplighter.domain.clients.agent import CONTEXT_LIMIT, MOST_CONTEXT, Agent, validate_agent_name
from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.text import PROJECT_CHARS, normalize_project

TABLE: Final = "agents"
MOST_AGENTS: Final = 1_000
LOOPBACK: Final = ("127.0.0.1", "localhost", "::1", "0.0.0.0", "::")
URL_CHARS: Final = 500
TOKEN_CHARS: Final = 1_000


def read_agents(sheet: TomlSheet, values: Mapping[str, Any]) -> tuple[Agent, ...]:
    """Return the agents of a file; errors are added to those of the sheet, with their lines."""
    tables, place = values.get(TABLE, {}), f"{sheet.path}: {TABLE}"
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        sheet.wrong.append(InvalidField(place, f"must be written as [{TABLE}.NAME]"))
        return ()
    if len(tables) > MOST_AGENTS:
        sheet.wrong.append(InvalidField(place, f"contains more than {MOST_AGENTS:,} agents"))
        return ()
    read: dict[str, Agent] = {}
    for name, settings in tables.items():
        table = TomlTable(sheet, (TABLE, name), 0, settings)
        agent = _agent(table, name)
        if agent.name in read:
            table.refuse("", f"is declared twice: agent names ignore case ({agent.name!r})")
        read[agent.name] = agent
    return tuple(read[name] for name in sorted(read))


def find_loops(
    agents: Iterable[Agent], host: str, port: int, names: Iterable[str]
) -> list[InvalidField]:
    """Return the errors of agents whose memory service would be this web process."""
    here = {*LOOPBACK, host, *names}
    wrong = []
    for agent in agents:
        at = urlsplit(agent.memory_url)
        usual = {"http": 80, "https": 443}.get(at.scheme)
        if agent.memory_url and at.hostname in here and (at.port or usual) == port:
            why = "is this web process itself; remove it to store memories here"
            wrong.append(InvalidField(f"{TABLE}.{agent.name}, memory_url", why))
    return wrong


def _agent(table: TomlTable, name: str) -> Agent:
    project = _project(table)
    try:
        agent_name = validate_agent_name(name)
    except Invalid as error:
        table.refuse("", error.wrong[0].message)
        agent_name = name
    table.keys.update(TABLES)
    read = Agent(
        name=agent_name,
        project=project,
        context_limit=table.number_of("context_limit", MOST_CONTEXT, CONTEXT_LIMIT, least=0),
        auto_summarize=table.flag("auto_summarize", default=True),
        auto_save=table.flag("auto_save", default=True),
        auto_search=table.flag("auto_search", default=True),
        memory_url=_url(table),
        memory_token=_token(table),
        hooks=read_hook_table(
            table.sheet, table.values, below=table.table, project=project or agent_name
        ),
    )
    table.end()
    return read


def _project(table: TomlTable) -> str:
    said = table.text("project")
    project = normalize_project(said)
    if "project" in table.values and isinstance(table.values["project"], str) and not project:
        table.refuse("project", "names no project; remove it to use the agent's name")
    if len(project) > PROJECT_CHARS or not project.isprintable():
        table.refuse("project", f"must have at most {PROJECT_CHARS} printable characters")
    return project


def _url(table: TomlTable) -> str:
    """Return the address of a memory service, without a slash at its end; empty for none."""
    url = table.text("memory_url").strip()
    if not url:
        return ""
    try:
        parts = urlsplit(url)
        whole = bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, whole = urlsplit(""), False
    if parts.scheme not in ("http", "https") or not whole or len(url) > URL_CHARS:
        table.refuse("memory_url", "is not a URL such as http://memory.lan:7437")
    elif parts.username is not None or parts.query or parts.fragment:
        table.refuse(
            "memory_url", "must not contain a password, ? or #; put a token in memory_token"
        )
    elif not url.isprintable() or " " in url:
        table.refuse("memory_url", "contains a character that is not valid in a URL")
    return url.rstrip("/")


def _token(table: TomlTable) -> str:
    said = table.text("memory_token").strip()
    if not said.isascii() or not said.isprintable() or len(said) > TOKEN_CHARS or " " in said:
        table.refuse("memory_token", "is not a token: use one line of ASCII")
        return ""
    return said
