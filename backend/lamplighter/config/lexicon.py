"""`lexicon.toml`: words of the operator, added to the built-in lexicon."""

from pathlib import Path
from typing import Final

from lamplighter.config.settings import LEXICON, Settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.relate import Lexicon, builtin_lexicon, extend_builtin

FILE_BYTES: Final = 1024 * 1024


class LexiconError(LamplighterError):
    """The file cannot be used; the message names it and the error."""


def active_lexicon(settings: Settings) -> Lexicon:
    """Return the built-in and the operator's words; LexiconError describes an error of the file.

    The file in the home is optional, but a configured path must exist.
    """
    path = settings.lexicon
    if path == settings.home / LEXICON and not path.exists():
        return builtin_lexicon()
    return load_lexicon(path)


def load_lexicon(path: Path) -> Lexicon:
    """Return the built-in words with those of a file; LexiconError describes an error."""
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
