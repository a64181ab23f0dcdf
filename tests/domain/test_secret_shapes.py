"""The table of shapes: each kind has an example, and everyday lines stay unchanged."""

import random
from typing import Final

from cells import walk
from lamplighter.domain.secrets.redact import Redactor
from lamplighter.domain.secrets.scan import SHAPES
from secret_examples import EXAMPLES, harmless_lines
from secret_patterns import Maker

OPEN: Final = Redactor()
LOOK_ALIKES: Final = {
    "pgp-private-key": "-----BEGIN PGP PUBLIC KEY BLOCK-----",
    "private-key": "-----BEGIN PUBLIC KEY----- MIIBIjANBgkqhkiG9w0",
}
"""Look-alikes of shapes that are secrets by their prefix alone."""


def test_the_table_has_many_kinds_and_many_examples() -> None:
    assert len({kind for kind, _ in SHAPES}) >= 150
    assert len(EXAMPLES) >= 60
    assert set(EXAMPLES) <= {kind for kind, _ in SHAPES}


@walk("kind", EXAMPLES)
def test_a_secret_of_a_known_shape_is_masked(kind: str) -> None:
    before, secret, after = EXAMPLES[kind]
    line = f"it printed {before}{secret}{after} and went on"

    assert OPEN(line) == f"it printed {before}[REDACTED:{kind}]{after} and went on"
    masked = OPEN.masked(f'{{"text":"a\\n{line}\\nstays"}}'.encode()).decode()
    assert secret not in masked
    assert masked.endswith(f'{after} and went on\\nstays"}}')


@walk("kind", EXAMPLES)
@walk("ahead", ["\\n", "\\\\n", "\\t", "\\r\\n", "\\u001b[1;31m", "\x1b[0m"])
def test_a_secret_that_begins_a_line_within_a_string_is_masked(kind: str, ahead: str) -> None:
    before, secret, after = EXAMPLES[kind]

    masked = OPEN.masked(f'{{"text":"one{ahead}{before}{secret}{after}\\ntwo"}}'.encode()).decode()

    assert secret not in masked
    assert masked.startswith(f'{{"text":"one{ahead}{before}')
    assert masked.endswith(f'{after}\\ntwo"}}')


@walk(("kind", "pattern"), SHAPES)
def test_generated_secrets_of_every_shape_are_masked(kind: str, pattern: str) -> None:
    for seed in range(5):
        made = Maker(random.Random(seed)).made(pattern)
        line = f"it printed {made.text} and went on"

        assert made.secret not in OPEN(line)
        assert made.secret.encode() not in OPEN.masked(line.encode())


@walk(("kind", "pattern"), SHAPES)
def test_text_that_resembles_a_secret_is_not_masked(kind: str, pattern: str) -> None:
    """It has the prefix and is too short, or lacks the text that identifies the secret."""
    made = Maker(random.Random(1), short=True).made(pattern)
    alike = LOOK_ALIKES.get(kind, made.text if made.secret == made.text else made.secret)
    line = f"it printed {alike} and went on"

    assert OPEN(line) == line


def test_nearly_all_harmless_lines_are_unchanged() -> None:
    lines = harmless_lines(random.Random(7), 1_000)
    changed = [line for line in lines if OPEN(line) != line]

    assert len(set(lines)) > 900
    assert len(changed) <= len(lines) * 0.005, changed[:10]
