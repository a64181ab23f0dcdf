"""`lexicon.toml`: the operator's words beside the built-in ones, and errors of invalid files."""

from pathlib import Path

import pytest

from lamplighter.config import lexicon
from lamplighter.config.lexicon import LexiconError
from lamplighter.config.settings import Settings, read_settings
from lamplighter.domain.relate import Relation, builtin_lexicon, relate
from lamplighter.domain.relate.lexicon import builtin_source, parse_lexicon

OWN = """
[synonyms]
kitchen = "Galley"

[opposites]
fullness = ["brimming", "drained"]
"""


def settings(home: Path, **more: str) -> Settings:
    return read_settings({"LAMPLIGHTER_HOME": str(home), **more})


def test_without_a_file_the_lexicon_is_the_built_in_one(tmp_path: Path) -> None:
    assert lexicon.active_lexicon(settings(tmp_path)) == builtin_lexicon()


def test_a_lexicon_file_in_the_home_extends_the_built_in_lexicon(tmp_path: Path) -> None:
    (tmp_path / "lexicon.toml").write_text(OWN)

    words = lexicon.active_lexicon(settings(tmp_path))

    assert words.version.startswith(f"{builtin_lexicon().version}+")
    held, said = "Fails with a full kitchen", "Fails with a full galley"
    assert relate(said, held).relation is not Relation.SAME
    assert relate(said, held, lexicon=words).relation is Relation.SAME


def test_a_lexicon_file_named_by_the_setting_must_exist(tmp_path: Path) -> None:
    elsewhere = tmp_path / "words.toml"
    asked = settings(tmp_path, LAMPLIGHTER_LEXICON=str(elsewhere))

    with pytest.raises(LexiconError, match=r"words\.toml: cannot be read: No such file"):
        lexicon.active_lexicon(asked)
    elsewhere.write_text(OWN)
    assert lexicon.active_lexicon(asked) != builtin_lexicon()


def test_additions_leave_all_built_in_words_in_the_lexicon() -> None:
    more = parse_lexicon(
        builtin_source(),
        'fillers = "erm"\n[synonyms]\nstart = "Zwirn"\n[forms]\nkeep = "kepted"\n'
        '[opposites]\nspeed = ["zip", "zap"]\n',
    )
    ours = builtin_lexicon()
    assert ours.heads.items() <= more.heads.items()
    assert ours.forms.items() <= more.forms.items()
    assert {word: poles for word, poles in more.poles.items() if word in ours.poles} == ours.poles
    assert more.meanings("zwirn") == ("start",)
    assert more.fillers == ours.fillers | {"erm"}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"[synonyms\n", r"not TOML: .*at line 1, column 10"),
        (b"# a\n\xff\n", r"lexicon\.toml:2: not UTF-8"),
        (b"a = " + b"[" * 20_000, "is nested too deeply"),
        (b"#" * (1024 * 1024 + 1), "larger than 1 MiB"),
        (b'synonims = "a"', "synonims is not a known key; known keys are phrases, "),
        (b'synonyms = "a"', "synonyms is not a table"),
        (b"fillers = 1", "fillers is not a text of words"),
        (b"[synonyms]\nstart = 1", "synonyms.start is not a text of words"),
        (b'[synonyms]\nstart = " "', "synonyms.start is not a text of words"),
        (b'[phrases]\n"a b" = "two words"', "phrases.a b is not one word"),
        (b'[phrases]\n"" = "word"', "phrases.'' is not 1 to 10 words"),
        (b'[opposites]\na = ["on"]', "opposites.a is not a list of two texts of words"),
        (b'[opposites]\na = ["on", 1]', "opposites.a is not a list of two texts of words"),
        (b'[opposites]\na = ["big", "small big"]', "opposites.a: big stands on both sides"),
        (b'[opposites]\nenable = ["disabled", "off"]', "opposites.enable: disabl stands on both"),
        (b"[scales]\noften = 5", "scales.often is not a whole number from 0 to 4"),
        (b"[scales]\noften = true", "scales.often is not a whole number from 0 to 4"),
        (b'valence = "nonsense"', "valence: nonsense is no axis of opposites"),
    ],
)
def test_an_invalid_lexicon_is_reported_with_file_and_line(
    tmp_path: Path, raw: bytes, said: str
) -> None:
    path = tmp_path / "lexicon.toml"
    path.write_bytes(raw)
    with pytest.raises(LexiconError, match=said) as refused:
        lexicon.load_lexicon(path)
    assert str(refused.value).startswith(str(path))


def test_a_directory_as_lexicon_is_reported(tmp_path: Path) -> None:
    with pytest.raises(LexiconError, match="cannot be read: Is a directory"):
        lexicon.load_lexicon(tmp_path)
