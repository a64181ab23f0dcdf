"""Two sentences of one template with different fillers are two facts, never a repetition."""

import re
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lamplighter.domain.memory.frames import (
    ANSWERS,
    FAILS_WITH,
    FIRST_FAILS,
    FRAMES,
    HEALTHY_AFTER,
    Frame,
)
from lamplighter.domain.relate import Relation, relate
from lamplighter.engines import probe
from thorough import examples

SAME, CONFLICTING, UNRELATED = Relation.SAME, Relation.CONFLICTING, Relation.UNRELATED

NAMES = st.sampled_from(
    ["redis", "postgres", "app", "api", "db-1", "db-2", "db", "nginx.service", "fails", "first"]
) | st.from_regex(r"[a-z][a-z0-9_-]{0,20}[a-z0-9]", fullmatch=True)
SECONDS = st.sampled_from([1, 2, 3, 5, 8, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600])
FILLERS = {
    "cause": NAMES,
    "check": NAMES,
    "action": st.sampled_from(["restart", "redeployment"]),
    "status": st.sampled_from(["200", "204", "301", "302", "401", "403", "404"]),
    "place": st.sampled_from(["/", "/static", "/static/app.js", "/health", "/healthz", "/v1"])
    | st.from_regex(r"/[a-z0-9._/-]{0,30}[a-z0-9]", fullmatch=True),
    "service": NAMES,
    "time": SECONDS.map(lambda n: f"{n} s") | SECONDS.map(lambda n: f"{n * 60:g} s"),
}


def sentences(frame: Frame) -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({slot: FILLERS[slot] for slot in frame.slots})


@given(st.data())
@settings(max_examples=examples(1_000), deadline=None)
def test_sentences_with_different_fillers_are_never_the_same(data: st.DataObject) -> None:
    frame = data.draw(st.sampled_from(FRAMES))
    one, two = data.draw(sentences(frame)), data.draw(sentences(frame))
    tails = (data.draw(st.booleans()), data.draw(st.booleans()))
    held = frame.text(tail=tails[0], **one, counts="1 of 2", range="4-9")
    said = frame.text(tail=tails[1], **two, counts="2 of 3", range="3-9")
    found = relate(said, held)

    subject = [slot for slot in frame.slots if slot != frame.value and one[slot] != two[slot]]
    if subject:
        assert found.relation is UNRELATED, (held, said)
    elif frame.value and not alike(one[frame.value], two[frame.value]):
        assert found.relation is CONFLICTING, (held, said)
    else:
        assert found.relation is SAME, (held, said)


def alike(one: str, two: str) -> bool:
    """Whether two values match: times within 15 % of the longer, all others only if equal."""
    if not one.endswith(" s"):
        return one == two
    first, second = sorted(float(each.removesuffix(" s")) for each in (one, two))
    return first >= 0.85 * second


@pytest.mark.parametrize("frame", FRAMES, ids=lambda each: each.sentence)
def test_fillers_are_read_back_from_a_rendered_sentence(frame: Frame) -> None:
    given_ = {slot: f"{slot}-1" for slot in frame.slots}
    assert frame.fillers(frame.text(**given_)) == given_
    whole = frame.text(tail=True, **given_, counts="1 of 2", range="4-9")
    assert frame.fillers(f"{whole}.") == given_
    assert frame.fillers(f"{frame.text(**given_)} and more besides") is None or frame.slots


@pytest.mark.parametrize(
    ("held", "said", "relation"),
    [
        (FAILS_WITH.text(cause="redis"), FAILS_WITH.text(cause="postgres"), UNRELATED),
        (FAILS_WITH.text(cause="archive"), FAILS_WITH.text(cause="courier"), UNRELATED),
        (
            ANSWERS.text(status=200, place="/static"),
            ANSWERS.text(status=200, place="/"),
            UNRELATED,
        ),
        (
            ANSWERS.text(status=302, place="/", tail=True),
            ANSWERS.text(status=200, place="/"),
            CONFLICTING,
        ),
        (
            HEALTHY_AFTER.text(time="60 s", action="restart"),
            HEALTHY_AFTER.text(time="1 min", action="restart"),
            SAME,
        ),
        (
            HEALTHY_AFTER.text(time="60 s", action="restart"),
            HEALTHY_AFTER.text(time="90 s", action="restart"),
            CONFLICTING,
        ),
        (
            HEALTHY_AFTER.text(time="60 s", action="restart"),
            HEALTHY_AFTER.text(time="60 s", action="redeployment"),
            UNRELATED,
        ),
        (FIRST_FAILS.text(action="restart"), FIRST_FAILS.text(action="redeployment"), UNRELATED),
    ],
)
def test_a_frame_determines_the_relation(held: str, said: str, relation: Relation) -> None:
    assert relate(said, held).relation is relation
    assert relate(held, said).relation is relation


FILLED = {
    "service": ["redis", "postgres", "archive", "home-assistant", "courier"],
    "path": ["/", "/static", "/var/log/app.log", "/var/log/app", "/mnt/a"],
    "port": ["8096", "9090", "80"],
    "host": ["nas1.lan", "nas2.lan", "192.168.1.4", "192.168.1.5"],
    "version": ["1.2", "1.2.1", "1.3"],
    "file": ["config.yml", "config.yaml", "app.conf"],
    "time": ["60 s", "90 s", "10 minutes"],
    "size": ["4 GB", "8 GB"],
}
SPOKEN = [
    "Needs {service} to be up before it starts",
    "Restart of {service} fixes connection refused",
    "Goes down together with {service}; restart {service} first",
    "Fails when {service} fails; repair that first",
    "Reads its rules from {path}",
    "{path} fills up and must be emptied by hand",
    "Listens on port {port}",
    "Port {port} refuses connections while it starts",
    "Backups go to {host}",
    "Loses its connection to {host} at night",
    "Version {version} leaks memory",
    "Crashes when {file} is missing",
    "The settings in {file} are overwritten by an update",
    "Takes {time} to start after a restart",
    "Is killed when it uses more than {size}",
]


@pytest.mark.parametrize("sentence", SPOKEN)
def test_sentences_without_a_declared_frame_differ_by_their_fillers(sentence: str) -> None:
    (slot,) = set(re.findall(r"{(\w+)}", sentence))
    for one, two in permutations(FILLED[slot], 2):
        found = relate(sentence.format(**{slot: two}), sentence.format(**{slot: one}))
        assert found.relation is not SAME, (sentence, one, two)
        if slot == "service":
            assert found.relation is not CONFLICTING, (sentence, one, two)


def test_every_memory_of_the_probe_engine_uses_a_declared_frame() -> None:
    """A sentence from another place would not be compared by its fillers."""
    sources = {path: path.read_text() for path in Path(probe.__file__).parent.glob("*.py")}
    written = "\n".join(sources.values())
    assert written.count("[MEMORY:") == 3
    words = set(re.findall(r"\b([A-Z_]+)\.text\(", written))
    assert words == {"ANSWERS", "FIRST_FAILS", "FLAPS"}
    for frame in FRAMES:
        part = max(re.split(r"{\w+}", frame.sentence), key=len)
        assert part not in written
