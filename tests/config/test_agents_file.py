"""Agents in lamplighter.toml; each error names its place."""

from pathlib import Path

import pytest

from lamplighter.config.settings import read_settings
from lamplighter.domain.clients.agent import Agent, find_agent
from lamplighter.domain.clients.tool_hooks import Hooks, InjectRule, SaveRule
from lamplighter.domain.errors import Invalid
from lamplighter.domain.memory.memory import Category

GOOD = """
interval = "5m"

[agents.coder]
project = "Media  Shelf"
context_limit = 0
auto_summarize = false
auto_save = false
auto_search = false
memory_url = "http://memory.lan:7437/agentops/"
memory_token = "lamp_1_abc"

[[agents.coder.save_rules]]
tool = "Bash"
match_output = "error|panic|fatal"
type = "bugfix"

[[agents.coder.inject_rules]]
tool = "bash"
limit = 2

[agents."Night.Watch"]
"""


def read(home: Path, text: str) -> tuple[Agent, ...]:
    (home / "lamplighter.toml").write_text(text)
    return read_settings({"LAMPLIGHTER_HOME": str(home)}).agents


def test_agents_are_read_along_with_other_settings(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)

    saved = SaveRule(
        tool="bash",
        category=Category.BUGFIX,
        match_output="error|panic|fatal",
        project="media shelf",
    )
    assert found == (
        Agent(
            name="coder",
            project="media shelf",
            context_limit=0,
            auto_summarize=False,
            auto_save=False,
            auto_search=False,
            memory_url="http://memory.lan:7437/agentops",
            memory_token="lamp_1_abc",
            hooks=Hooks(save=(saved,), inject=(InjectRule(tool="bash", limit=2),)),
        ),
        Agent(name="night.watch"),
    )
    settings = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    assert settings.interval == 300
    assert settings.hooks == Hooks()
    assert "lamp_1_abc" not in repr(found)


def test_an_agent_without_a_table_has_every_default(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)

    assert find_agent(found, " CODER ").project == "media shelf"
    assert find_agent(found, "other") == Agent(name="other")
    assert find_agent(found, "other").reads == "other"
    assert (Agent(name="a").context_limit, Agent(name="a").auto_save) == (5, True)


def test_a_file_without_agents_declares_none(tmp_path: Path) -> None:
    assert read(tmp_path, "port = 8081\n") == ()


AGENT = "[agents.coder]\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{AGENT}context_limit = 51\n", ":2: agents.coder, context_limit: is not a whole number"),
        (f"{AGENT}context_limit = -1\n", "is not a whole number from 0 to 50"),
        (f"{AGENT}context_limit = true\n", "context_limit: is not a whole number from 0 to 50"),
        (f"{AGENT}\nauto_save = 'no'\n", ":3: agents.coder, auto_save: must be true or false"),
        (f"{AGENT}autosave = true\n", ":2: agents.coder, autosave: is not a key; did you mean"),
        (f"{AGENT}contextLimit = 3\n", ":2: agents.coder, contextLimit: is not a key"),
        (f"{AGENT}project = 3\n", ":2: agents.coder, project: is not a string; put it in quotes"),
        (f"{AGENT}project = ' '\n", ":2: agents.coder, project: names no project"),
        (
            f"{AGENT}project = '{'x' * 201}'\n",
            "project: must have at most 200 printable characters",
        ),
        (f"{AGENT}memory_url = 'memory:7437'\n", ":2: agents.coder, memory_url: is not a URL such"),
        (f"{AGENT}memory_url = 'http://'\n", "memory_url: is not a URL such as http://mem"),
        (f"{AGENT}memory_url = 'http://h:99999'\n", "memory_url: is not a URL such as"),
        (f"{AGENT}memory_url = 'http://[::1'\n", "memory_url: is not a URL such as"),
        (f"{AGENT}memory_url = 'http://u:p@h'\n", "memory_url: must not contain a password"),
        (
            f"{AGENT}memory_url = 'http://h/?a=b'\n",
            "memory_url: must not contain a password, ? or #",
        ),
        (f"{AGENT}memory_token = 'a b'\n", ":2: agents.coder, memory_token: is not a token"),
        ("[agents.'a b']\n", ":1: agents.a b: must have 1 to 64 lowercase letters"),
        ("[agents.a]\n[agents.A]\n", ":2: agents.A: is declared twice"),
        ("agents = 3\n", "lamplighter.toml: agents: must be written as [agents.NAME]"),
        ("[agents]\ncoder = 3\n", "lamplighter.toml: agents: must be written as [agents.NAME]"),
        ("[agent.coder]\n", "lamplighter.toml: agent: is not a setting; did you mean agents?"),
        (
            f"{AGENT}[[agents.coder.save_rules]]\ntool = 'bash'\ntype = 'bugfix'\n"
            "[[agents.coder.save_rules]]\ntool = 'bash'\ntype = 'timing'\n",
            ":7: agents.coder.save_rules 2, type: 'timing' is not one of",
        ),
        (
            f"{AGENT}save_rules = 3\n",
            "agents.coder.save_rules: must be written as [[agents.coder.sav",
        ),
        ("agents.coder.auto_save = 3\n", "lamplighter.toml: agents.coder, auto_save: must be true"),
    ],
)
def test_an_invalid_agent_is_reported_with_line_and_key(
    tmp_path: Path, text: str, said: str
) -> None:
    with pytest.raises(Invalid) as raised:
        read(tmp_path, text)

    assert said in str(raised.value)
    assert str(tmp_path) in str(raised.value)
    assert "u:p@h" not in str(raised.value)


@pytest.mark.parametrize(
    ("url", "refused"),
    [
        ("http://127.0.0.1:9999", True),
        ("http://localhost:9999/agentops", True),
        ("http://box.lan:9999", True),
        ("http://[::1]:9999", True),
        ("http://127.0.0.1:7437", False),
        ("http://memory.lan:9999", False),
    ],
)
def test_memory_url_must_not_be_the_web_process_itself(
    tmp_path: Path, url: str, refused: bool
) -> None:
    (tmp_path / "lamplighter.toml").write_text(f"{AGENT}memory_url = '{url}'\n")
    environ = {
        "LAMPLIGHTER_HOME": str(tmp_path),
        "LAMPLIGHTER_PORT": "9999",
        "LAMPLIGHTER_HOSTS": "box.lan",
    }

    if refused:
        with pytest.raises(Invalid, match=r"agents\.coder, memory_url: is this web process itself"):
            read_settings(environ)
    else:
        assert read_settings(environ).agents[0].memory_url == url
