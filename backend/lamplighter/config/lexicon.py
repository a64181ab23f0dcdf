"""`lexicon.toml`: words of the operator, added to the built-in lexicon."""

from pathlib import Path
from typing import Final

from lamplighter.config.settings import LEXICON, Settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.relate import Lexicon, builtin_lexicon, extend_builtin

FILE_BYTES: Final = 1024 * 1024


class LexiconError(LamplighterError):
    """The file cannot be used; the message names it and what is wrong."""


def active_lexicon(settings: Settings) -> Lexicon:
    """Return our words and the operator's; LexiconError says what is wrong with the file.

    The home need not hold one, but one that is asked for by name is to be there.
    """
    path = settings.lexicon
    if path == settings.home / LEXICON and not path.exists():
        return builtin_lexicon()
    return load_lexicon(path)


def load_lexicon(path: Path) -> Lexicon:
    """Return our words with those of a file; LexiconError says what is wrong with it."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise LexiconError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > FILE_BYTES:
        raise LexiconError(f"{path}: the file is larger than 1 MiB")
    try:
        return extend_builtin(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise LexiconError(f"{path}:{line}: not UTF-8") from error
    except ValueError as error:
        raise LexiconError(f"{path}: {error}") from error
