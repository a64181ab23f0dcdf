"""`lamplighter memory`, and how two observations stand to each other, judged without a server."""

import json
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING, Any, Final

import click

from lamplighter.cli.words import in_words, refuse, settings_in_force
from lamplighter.domain import plain
from lamplighter.domain.errors import EXIT_FAILED
from lamplighter.domain.text import one_line, terminal

if TYPE_CHECKING:
    from lamplighter.domain.relate import Lexicon

LINE_BYTES: Final = 1024 * 1024


@click.group()
def memory() -> None:
    """List, add, change and compare memories."""


@memory.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--service", help="The service that both are about.")
@click.option("--category", hidden=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--jsonl", is_flag=True, help="Read pairs from standard input, a JSON object a line.")
@in_words
def relate(
    old: str | None,
    new: str | None,
    service: str | None,
    category: str | None,
    *,
    as_json: bool,
    jsonl: bool,
) -> None:
    """Say whether NEW says what OLD says, contradicts it, or is another fact.

    With --jsonl each line is {"old", "new", "service", "id"}, and each line of the answer
    {"id", "label", "sure", "p", "reason"}, or {"id", "error"}: then the exit status is 1.
    """
    from lamplighter.config import lexicon
    from lamplighter.domain import relate as relating

    if jsonl == (old is not None) or (old is not None and not new):
        refuse("Give either OLD and NEW, or --jsonl with the pairs on standard input.")
    words = lexicon.in_force(settings_in_force())
    if old is None or new is None:
        sys.exit(EXIT_FAILED if _each(sys.stdin.buffer, words) else 0)
    found = relating.relate(new, old, service=service, lexicon=words)
    if as_json:
        click.echo(json.dumps(plain.verdict(found), ensure_ascii=False))
    else:
        click.echo(f"{found.label}{'' if found.sure else ' (not sure)'}: {terminal(found.reason)}")


def _each(file: IO[bytes], words: "Lexicon") -> int:
    """Answer each line as soon as it is there; return how many could not be answered."""
    wrong = 0
    for line in _lines(file):
        answer = _answer(line, words)
        wrong += "error" in answer
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    return wrong


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    """Read line by line; of one that is too long only the beginning is given."""
    while line := file.readline(LINE_BYTES):
        rest = line
        while len(rest) == LINE_BYTES and not rest.endswith(b"\n"):
            rest = file.readline(LINE_BYTES)
        if line.strip():
            yield line


def _answer(line: bytes, words: "Lexicon") -> dict[str, Any]:
    from lamplighter.domain.relate import relate as related

    given: Any = None
    try:
        given = json.loads(_decoded(line))
        old, new, service = (_text(given, name) for name in ("old", "new", "service"))
    except (ValueError, RecursionError) as error:
        mark = given.get("id") if isinstance(given, dict) else None
        return {"id": mark, "error": one_line(str(error))}
    found = related(new or "", old or "", service=service, lexicon=words)
    return {"id": given.get("id"), **plain.verdict(found)}


def _decoded(line: bytes) -> str:
    try:
        return line.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError("not UTF-8") from error


def _text(given: Any, name: str) -> str | None:
    if not isinstance(given, dict):
        raise ValueError("is not a JSON object")
    value = given.get(name)
    if isinstance(value, str) and value.strip():
        return value
    if name == "service" and value in (None, ""):
        return None
    raise ValueError(f"{name} is {'missing' if value is None else 'no text that says something'}")
