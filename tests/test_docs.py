"""Accurate docs: settings, routes, markers and decisions are documented, and examples work."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest

from lamplighter.api.agentops.routes import OPERATIONS, PREFIX
from lamplighter.api.routes import ANY, LOGIN, OPS
from lamplighter.api.system.shapes import Entity
from lamplighter.config import services
from lamplighter.config.catalog import SETTINGS
from lamplighter.config.hooks import KNOWLEDGE
from lamplighter.config.settings import read_settings
from lamplighter.domain.access.access import SCOPES
from lamplighter.domain.memory.memory import OPERATIONAL
from lamplighter.domain.relate import extend_builtin, relate
from lamplighter.domain.relate.lexicon import LISTS, TABLES
from lamplighter.domain.services.check import CHECKS
from lamplighter.domain.sessions import markers
from lamplighter.domain.sessions.markers import MarkerKind, MarkerReading
from lamplighter.domain.sessions.session import TIERS
from lamplighter.engines import stream
from lamplighter.formats.tools import CLIENT_TOOLS, SESSION_TOOLS
from lamplighter.formats.tools.definition import ToolHints
from lamplighter.usecases.sessions.prompts import system_prompt

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
RELATE = DOCS / "explanation" / "relate.md"
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
TABLE_WORD = re.compile(r"^\| ([a-z ]+) \|", re.MULTILINE)


def fenced(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(), re.DOTALL)


def describe_hints(hints: ToolHints) -> str:
    words = {
        "reads only": hints.read_only,
        "destructive": hints.destructive,
        "idempotent": hints.idempotent,
        "open world": hints.open_world,
    }
    return ", ".join(word for word, holds in words.items() if holds) or "adds"


def test_docs_list_exactly_the_client_tools() -> None:
    text = (DOCS / "reference" / "mcp.md").read_text()
    rows = [
        (f"`{offer.name}`", offer.title, describe_hints(offer.hints), offer.about)
        for offer in CLIENT_TOOLS
    ]
    assert re.findall(r"^\| (`\w+`) \| (.+) \| (.+) \| (.+) \|$", text, re.MULTILINE) == rows


def test_docs_list_every_setting_with_its_description() -> None:
    text = (DOCS / "reference" / "settings.md").read_text()
    for setting in SETTINGS:
        assert f"| `{setting.variable}` |" in text
        assert setting.about in text


def test_docs_list_every_route() -> None:
    text = (DOCS / "reference" / "api.md").read_text()
    for op in OPS:
        path = op.path.replace(":int", "")
        scope = {None: "everybody", ANY: "any"}.get(op.scope, f"`{op.scope}`")
        assert f"| `{op.method}` | `{path}` | {op.about} | {scope} |" in text


def test_docs_list_every_route_that_needs_no_caller() -> None:
    text = (DOCS / "reference" / "access.md").read_text()
    sentence, _, _ = text.partition("except ")[2].partition(". ")
    paths = {LOGIN, *(op.path for op in OPS if op.scope is None)}
    paths |= {f"{PREFIX}{op.path}" for op in OPERATIONS if op.scope is None}
    assert set(re.findall(r"`(/[^`]+)`", sentence)) == paths


def test_docs_list_every_object_of_the_change_feed() -> None:
    text = (DOCS / "reference" / "api.md").read_text()
    names = re.search(r"the changed object \(([^)]+)\)", text)
    assert names
    assert tuple(re.split(r",\s+", names[1])) == get_args(Entity)


def test_docs_list_every_scope() -> None:
    text = (DOCS / "reference" / "access.md").read_text()
    for scope in SCOPES:
        assert f"`{scope}`" in text


def test_docs_and_prompt_list_every_session_tool() -> None:
    text = (DOCS / "reference" / "tools.md").read_text()
    for offer in SESSION_TOOLS:
        tiers = ", ".join(map(str, offer.tiers))
        row = (f"`{offer.name}`", offer.title, tiers, describe_hints(offer.hints), offer.about)
        assert f"| {' | '.join(row)} |" in text
    names = [offer.name for offer in SESSION_TOOLS]
    assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == names
    partial = (ROOT / "prompts" / "partials" / "tools.md").read_text()
    assert sorted(re.findall(r"^- (\w+):", partial, re.MULTILINE)) == sorted(names)


@pytest.mark.parametrize("tier", TIERS)
def test_prompt_lists_only_the_tools_of_the_session(tier: int) -> None:
    assert "## Tools" not in system_prompt(tier)
    told = system_prompt(tier, ["look", "handoff"])
    assert told.startswith(system_prompt(tier))
    assert re.findall(r"^- (\w+):", told.partition("## Tools\n")[2], re.MULTILINE) == [
        "look",
        "handoff",
    ]
    assert "refusal is final" not in told
    assert "never instructions" in told


def test_links_in_the_docs_have_existing_targets() -> None:
    for page in [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]:
        for target in LINK.findall(page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_docs_index_lists_each_page_and_folders_have_at_most_15_pages() -> None:
    groups = (DOCS / "README.md").read_text().split("\n## ")[1:]
    for folder, group in zip(("start", "how-to", "explanation", "reference"), groups, strict=True):
        pages = {f"{folder}/{page.name}" for page in (DOCS / folder).iterdir()}
        assert pages == {each for each in LINK.findall(group) if "/" in each}
        assert 0 < len(pages) <= 15


def test_tool_hook_examples_in_the_docs_load(tmp_path: Path) -> None:
    examples = fenced(DOCS / "reference" / "hooks.md", "toml")
    (tmp_path / "lamplighter.toml").write_text("\n".join(examples))
    found = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)}).hooks
    assert (len(found.save), len(found.inject)) == (2, 2)
    assert all(f"{each}" in (DOCS / "reference" / "hooks.md").read_text() for each in KNOWLEDGE)


def test_services_examples_in_the_docs_load(tmp_path: Path) -> None:
    for page in (
        DOCS / "reference" / "services.md",
        DOCS / "explanation" / "approvals.md",
        ROOT / "README.md",
    ):
        for number, example in enumerate(fenced(page, "yaml")):
            path = tmp_path / f"{page.stem}{number}.yaml"
            path.write_text(example)
            assert len(services.load(path)) == 2


def test_the_reference_of_services_has_an_example_of_each_kind_of_check(tmp_path: Path) -> None:
    path = tmp_path / "services.yaml"
    path.write_text(fenced(DOCS / "reference" / "services.md", "yaml")[0])

    kinds = {type(check) for service in services.load(path) for check in service.checks}

    assert kinds == set(CHECKS)


def test_agents_example_in_the_docs_loads(tmp_path: Path) -> None:
    examples = fenced(DOCS / "reference" / "agents.md", "toml")
    (tmp_path / "lamplighter.toml").write_text("\n".join(examples))
    found = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)}).agents
    assert [each.name for each in found] == ["away", "coder", "guest"]
    assert found[0].memory_token


@pytest.mark.parametrize("page", ["start/first-service.md", "start/docker.md"])
def test_services_examples_in_the_guides_load(page: str, tmp_path: Path) -> None:
    examples = fenced(DOCS / page, "yaml")
    assert len(examples) == 2
    for number, example in enumerate(examples):
        path = tmp_path / f"{number}.yaml"
        path.write_text(example)
        assert list(services.load(path))


def test_phone_notification_example_in_the_docs_loads(tmp_path: Path) -> None:
    *_, example = fenced(DOCS / "how-to" / "phone.md", "toml")
    (tmp_path / "lamplighter.toml").write_text(example)
    settings = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)})
    assert settings.notify
    assert (settings.notify_level, settings.notify_digest) == ("warning", 1800.0)


def test_docs_pairs_of_observations_get_the_stated_relation() -> None:
    rows = re.findall(r"^\| (.+) \| (.+) \| (\w+) \| (.+) \|$", RELATE.read_text(), re.MULTILINE)
    assert len(rows) == 16
    for held, said, label, reason in rows[1:]:
        found = relate(said, held)
        assert (found.label, found.reason) == (label, reason)


def test_lexicon_example_in_the_docs_loads() -> None:
    [example] = fenced(RELATE, "toml")
    words = extend_builtin(example)
    assert words.meanings(words.root("scullery")) == (words.root("kitchen"),)
    for name in LISTS:
        assert f"`{name}`" in RELATE.read_text()
    for name in TABLES:
        assert f"[{name}]" in example


def test_stream_example_in_the_docs_is_parsed() -> None:
    example, report = fenced(DOCS / "reference" / "markers.md", "json")
    read = [
        type(item).__name__ for line in example.splitlines() for item in stream.parse(line.encode())
    ]
    assert read == ["EngineStarted", "Text", "ToolUse", "ToolResult", "Finished"]
    assert all(json.loads(line) for line in example.splitlines())
    entries = list(markers.read_report(json.loads(report)))
    assert [(each.what, each.reading) for each in entries] == [
        (MarkerKind.MEMORY, MarkerReading.TAKEN),
        (MarkerKind.ESCALATE, MarkerReading.TAKEN),
    ]


def test_marker_examples_in_the_docs_are_accepted() -> None:
    rows = re.findall(
        r"^\| `(\[[A-Z]+:.*?)` \|", (DOCS / "reference" / "markers.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 5
    for row in rows:
        [marker] = markers.read_markers(row)
        assert marker.reading is MarkerReading.TAKEN


@pytest.mark.parametrize("tier", TIERS)
def test_prompt_categories_and_examples_match_the_marker_parser(tier: int) -> None:
    text = system_prompt(tier)
    section = text.partition("## Memory Recording\n")[2]
    assert re.findall(r"^- (\w+): .*$", section, re.MULTILINE) == list(OPERATIONAL)
    examples = section.partition("Examples:\n")[2].partition("\n- ")[0]
    read = [
        marker
        for marker in markers.read_markers(examples)
        if marker.what is markers.MarkerKind.MEMORY
    ]
    assert len(read) >= 3
    assert all(marker.reading is MarkerReading.TAKEN for marker in read)


def test_prompts_of_all_tiers_share_one_memory_section() -> None:
    sections = {system_prompt(tier).partition("## Memory Recording\n")[2] for tier in TIERS}
    assert len(sections) == 1
    assert "{{" not in "".join(system_prompt(tier) for tier in TIERS)


def test_glossary_words_are_unique_and_used_in_the_code() -> None:
    cells = TABLE_WORD.findall((DOCS / "glossary.md").read_text())
    words = [cell for cell in cells if cell != "word"]
    code = "\n".join(path.read_text() for path in (ROOT / "backend").rglob("*.py")).lower()
    assert len(words) == len(set(words)) > 20
    for word in words:
        assert re.search(rf"\b{word}", code), f"{word} is in the glossary but not in the code"


def test_banned_names_stay_out_of_the_code() -> None:
    banned = re.compile(
        r"\b(?:class|def)\s+\w*(?:manager|helper|utils|handler)\w*\b", re.IGNORECASE
    )
    for path in (ROOT / "backend").rglob("*.py"):
        assert not banned.search(path.read_text()), path


def test_decision_records_are_numbered_in_sequence_and_short() -> None:
    pages = sorted((DOCS / "adr").glob("*.md"))
    assert [int(page.name[:4]) for page in pages] == list(range(1, len(pages) + 1))
    for page in pages:
        text = page.read_text()
        assert len(text.splitlines()) <= 40
        assert all(part in text for part in ("**Context.**", "**Decision.**", "**Consequence.**"))


def test_changelog_has_an_unreleased_section() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def test_the_procfile_names_both_processes() -> None:
    assert (
        ROOT / "Procfile"
    ).read_text() == "web: lamplighter web\nsupervisor: lamplighter supervisor\n"
