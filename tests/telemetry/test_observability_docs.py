"""The observability docs are accurate: every metric is documented, and every name exists."""

import json
import re
from pathlib import Path

import httpx2
import pytest
import yaml
from prometheus_client.core import Metric
from prometheus_client.parser import text_string_to_metric_families

from lamplighter.config.settings import read_settings
from living import Home, Server

DOCS = Path(__file__).parents[2] / "docs"
ROW = re.compile(r"^\| `(lamplighter_\w+)` \|([^|]*)\| (\w+) \| (\w+) \| (.+) \|$", re.MULTILINE)
KINDS = {"counter", "gauge", "histogram", "summary"}
ABBREVIATED = {"s", "ms", "us", "ns", "sec", "secs", "b", "kb", "mb", "gb", "pct", "percent"}
"""As promtool expects: only base units, by their names."""
USED = re.compile(r"\b(?:lamplighter|process)_[a-z_]+")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Metric]:
    """Return the metric families of a server after a session, a search and a measurement."""
    home = Home(tmp_path_factory.mktemp("figures") / "home", {"LAMPLIGHTER_VECTORS": "auto"})
    server = Server(home)
    home.says("Nothing to report")
    try:
        with httpx2.Client(base_url=server.url, headers=server.headers, timeout=20) as client:
            client.get("/agentops/context", params={"project": "p", "query": "x"})
            client.post("/api/v1/memory-health/measurements", json={})
            text = client.get("/metrics").text
    finally:
        server.kill()
    return {each.name: each for each in text_string_to_metric_families(text)}


def shown_as(family: Metric) -> str:
    kinds = {"counter": "_total"}
    return family.name + kinds.get(family.type, "")


def test_docs_list_exactly_the_metrics_with_type_and_help(told: dict[str, Metric]) -> None:
    rows = {name: (kind, words) for name, _, kind, _, words in ROW.findall(page())}
    ours = {
        shown_as(each): (each.type, each.documentation)
        for each in told.values()
        if each.name.startswith("lamplighter_")
    }

    assert rows == ours


def test_docs_list_the_labels_of_each_metric(told: dict[str, Metric]) -> None:
    labels = {name: set(re.findall(r"`(\w+)`", each)) for name, each, *_ in ROW.findall(page())}
    for family in told.values():
        for sample in family.samples:
            if sample.name.startswith("lamplighter_"):
                assert set(sample.labels) - {"le"} == labels[shown_as(family)], sample


def test_metric_names_follow_prometheus_conventions(told: dict[str, Metric]) -> None:
    for family in told.values():
        assert re.fullmatch(r"[a-z][a-z0-9_]*", family.name)
        assert family.documentation
        if family.type == "histogram":
            assert family.name.endswith("_seconds")
        words = shown_as(family).split("_")
        assert ("total" in words) is (family.type == "counter"), family.name
        assert not KINDS & set(words), family.name
        assert not ABBREVIATED & set(words), family.name
        if family.type == "gauge":
            assert words[-1] not in ("count", "sum", "bucket"), family.name
        for sample in family.samples:
            assert ("le" in sample.labels) is sample.name.endswith("_bucket"), sample
            assert all(re.fullmatch(r"[a-z_]+", label) for label in sample.labels), sample


def test_metric_labels_have_bounded_values(told: dict[str, Metric]) -> None:
    """No label contains row ids, names, addresses or texts of people."""
    known = {"method", "route", "status", "outcome", "profile", "category", "state", "tier"}
    known |= {"action", "version", "le", "figure", "severity"}
    labels = {
        label
        for each in told.values()
        if each.name.startswith("lamplighter_")
        for sample in each.samples
        for label in sample.labels
    }

    assert labels <= known


def test_metric_units_are_accepted_by_promtool(told: dict[str, Metric]) -> None:
    """`promtool check metrics` requires seconds, bytes and ratios."""
    others = {"milliseconds", "minutes", "hours", "days", "weeks", "kilobytes", "percent"}

    assert not {name for name in told if others & set(name.split("_"))}


@pytest.mark.parametrize("name", ["alerts.yml", "grafana.json"])
def test_dashboard_and_alert_rules_use_existing_metrics(told: dict[str, Metric], name: str) -> None:
    text = (DOCS / "observability" / name).read_text()
    known = {sample.name for family in told.values() for sample in family.samples}
    known |= {shown_as(family) for family in told.values()}  # those without a series yet
    known |= {f"{each.name}_bucket" for each in told.values() if each.type == "histogram"}

    used = set(USED.findall("\n".join(expressions(name, text))))

    assert used
    assert used <= known, used - known


def expressions(name: str, text: str) -> list[str]:
    if name.endswith(".yml"):
        rules = yaml.safe_load(text)["groups"][0]["rules"]
        assert all({"alert", "expr", "labels", "annotations"} <= each.keys() for each in rules)
        return [each["expr"] for each in rules]
    panels = json.loads(text)["panels"]
    assert len({each["id"] for each in panels}) == len(panels)
    places = {(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels}
    assert len(places) == len(panels)
    return [target["expr"] for each in panels for target in each["targets"]]


def test_agents_example_in_the_docs_loads(tmp_path: Path) -> None:
    examples = re.findall(
        r"```toml\n(.*?)```", (DOCS / "reference" / "agents.md").read_text(), re.DOTALL
    )
    (tmp_path / "lamplighter.toml").write_text("\n".join(examples).replace("…", "x"))

    found = read_settings({"LAMPLIGHTER_HOME": str(tmp_path)}).agents

    assert [each.name for each in found] == ["away", "coder", "guest"]
    assert (len(found[1].hooks.save), len(found[1].hooks.inject)) == (1, 1)
    assert not found[2].auto_save


def test_log_line_in_the_docs_has_the_fields_of_a_record() -> None:
    [line] = re.findall(r"```json\n(.*?)```", page(), re.DOTALL)

    assert {"time", "level", "logger", "message", "request_id"} <= json.loads(line).keys()


def page() -> str:
    return (DOCS / "reference" / "observability.md").read_text()
