"""The words of the product are plain English; phrases of the old dialect do not come back."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
APP: Final = ROOT / "frontend" / "src"
PHRASES: Final = Path(__file__).parent / "voice"
STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _phrases(name: str) -> re.Pattern[str]:
    """Return a pattern of the banned phrases in a file of tests/voice, one a line."""
    lines = (PHRASES / name).read_text(encoding="utf-8").split("\n")
    words = "|".join(re.escape(line) for line in lines if line)
    return re.compile(rf"\b(?:{words})\b", re.IGNORECASE)


def _app_texts() -> Iterator[tuple[str, str]]:
    """Yield each English text of the app with its file: of the HTML (JSON) and of the code (JS)."""
    for path in sorted(APP.rglob("*.json")):
        for text in json.loads(path.read_text(encoding="utf-8")).values():
            yield str(path.relative_to(APP)), text
    for path in sorted([*APP.rglob("texts.js"), *(APP / "shared" / "texts").glob("*.js")]):
        if path.name in ("index.js", "en.js", "late.js"):
            continue
        for text in STRING.findall(path.read_text(encoding="utf-8")):
            yield str(path.relative_to(APP)), text


def test_app_texts_use_plain_words() -> None:
    banned = _phrases("app_phrases.txt")
    texts = list(_app_texts())

    assert len(texts) > 1_000
    found = [f"{file}: {text!r}" for file, text in texts if banned.search(text)]
    assert found == []
