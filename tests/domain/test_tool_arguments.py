"""Arguments of tools: all are validated, with errors that a model can act on."""

import json
import math
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lamplighter.domain.errors import Invalid
from lamplighter.formats.tool_arguments import parse_arguments
from lamplighter.formats.tools import CLIENT_TOOLS, SESSION_TOOLS, tools_for_tier

READ = next(each for each in SESSION_TOOLS if each.name == "read_file")
SAVE = next(each for each in SESSION_TOOLS if each.name == "mem_save")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def wrong(offer: Any, **fields: Any) -> str:
    with pytest.raises(Invalid) as caught:
        parse_arguments(offer.schema, fields)
    return str(caught.value)


@pytest.mark.parametrize("offer", SESSION_TOOLS, ids=lambda each: each.name)
def test_every_schema_is_valid_and_accepts_its_examples(offer: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(dict(offer.schema))
    for example in offer.schema["examples"]:
        jsonschema.validate(example, dict(offer.schema))
        assert parse_arguments(offer.schema, example) == example
    assert len(json.dumps(offer.schema)) < 1_500


@pytest.mark.parametrize("offer", SESSION_TOOLS, ids=lambda each: each.name)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(fields=st.dictionaries(st.sampled_from(["service", "path", "id", "limit"]), ANYTHING))
def test_any_arguments_match_the_schema_or_are_rejected(offer: Any, fields: dict[str, Any]) -> None:
    try:
        found = parse_arguments(offer.schema, fields)
    except Invalid as error:
        refused = str(error)
        found = None
    if found is not None:
        jsonschema.validate(found, dict(offer.schema))
    else:
        assert refused.isprintable()
        assert len(refused) < 2_000


@pytest.mark.parametrize("offer", [*SESSION_TOOLS, *CLIENT_TOOLS], ids=lambda each: each.name)
def test_a_value_of_another_type_is_reported_with_its_name(offer: Any) -> None:
    for name, field in offer.schema["properties"].items():
        value = 1.5 if field["type"] != "number" else "x"

        assert f"{name}: must be " in wrong(offer, **{name: value})


@pytest.mark.parametrize(
    ("offset", "words"),
    [
        ("x", "offset: must be a whole number, not the text 'x'"),
        (1.5, "offset: must be a whole number, not a fraction"),
        (math.nan, "offset: must be a whole number, not NaN or infinity"),
        (math.inf, "offset: must be a whole number, not NaN or infinity"),
        (True, "offset: must be a whole number, not true or false"),
        ([1], "offset: must be a whole number, not a list"),
        ({"a": 1}, "offset: must be a whole number, not an object"),
        (
            10**30,
            "offset: must be a whole number from -9,007,199,254,740,991 to 9,007,199,254,740,991",
        ),
        ("9" * 200, f"offset: must be a whole number, not the text '{'9' * 59}…'"),
    ],
    ids=str,
)
def test_an_invalid_number_is_reported(offset: Any, words: str) -> None:
    assert wrong(READ, path="/a", offset=offset) == words


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "path: is missing"),
        ({"path": None}, "path: is missing"),
        ({"path": ""}, "path: is empty"),
        ({"path": " \n\u200b"}, "path: is empty"),
        ({"path": 7}, "path: must be text, not a whole number"),
        ({"path": ["/a"]}, "path: must be text, not a list"),
        ({"path": "/" * 5_000}, "path: is longer than 4,096 characters"),
        ({"path": "/a", "mode": "w"}, "mode: is unknown; valid names: path, offset, limit"),
        ({"path": "/a", "\x1b[31m": 1}, "[31m: is unknown; valid names: path, offset, limit"),
        ({"limit": 0}, "path: is missing; limit: must be a whole number from 1 to 12,000"),
    ],
    ids=str,
)
def test_every_invalid_field_is_reported(fields: dict[str, Any], words: str) -> None:
    assert wrong(READ, **fields) == words


def test_an_invalid_choice_is_reported_with_the_valid_choices() -> None:
    words = wrong(SAVE, category="secrets", observation="x")

    assert words.startswith("category: is 'secrets'; it is one of timing, dependency, behavior, ")


def test_harmless_deviations_of_arguments_are_corrected() -> None:
    fields = {"path": "/a", "offset": "-40", "limit": 30.0}

    assert parse_arguments(READ.schema, fields) == {"path": "/a", "offset": -40, "limit": 30}
    assert parse_arguments(READ.schema, {"path": "/a", "offset": None}) == {"path": "/a"}


def test_half_a_character_is_rejected() -> None:
    with pytest.raises(Invalid, match=r"^path: contains half of a surrogate pair"):
        parse_arguments(READ.schema, {"path": "/a\ud83d"})


@pytest.mark.parametrize("tier", [1, 2, 3])
def test_tools_depend_on_the_tier_roots_and_commands(tier: int) -> None:
    with_files = {each.name for each in tools_for_tier(tier, reads=True)}
    without = {each.name for each in tools_for_tier(tier, reads=False)}

    with_commands = {each.name for each in tools_for_tier(tier, reads=False, commands=True)}

    assert with_files - without == {"read_file"}
    assert with_commands - without == {"run_command"}
    assert ("run_action" in without) == (tier == 3)
    assert without >= {"look", "mem_search", "read_memory", "mem_save", "handoff"}
