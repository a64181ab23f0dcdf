"""The product's texts are plain English; phrases of the old dialect do not return."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeGuard

import pytest

ROOT: Final = Path(__file__).parents[1]
APP: Final = ROOT / "frontend" / "src"
BACKEND: Final = ROOT / "backend" / "lamplighter"
PHRASES: Final = Path(__file__).parent / "voice"
STRING: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
ACCEPTED: Final = {
    "EventSelection.since": "the start of a range of time",
    "SearchRequest.since": "the start of a range of time",
    "SessionFilter.since": "the start of a range of time",
}
"""Names that the trade uses in this sense, each with the sense."""


Modules = dict[str, ast.Module]


@pytest.fixture(scope="module")
def modules() -> Modules:
    """Return the modules of the backend by their places, each parsed once."""
    return {
        path.relative_to(BACKEND).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(BACKEND.rglob("*.py"))
    }


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


def _left(name: str) -> list[str]:
    """Return the remaining entries of the old dialect, one a line; the list may only shrink."""
    return (PHRASES / name).read_text(encoding="utf-8").splitlines()


def _is_banned(name: str, banned: frozenset[str]) -> bool:
    return name.strip("_").lower() in banned


def _names(tree: ast.Module) -> Iterator[str]:
    """Yield the names of a module's classes, functions, constants, attributes and methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.name
            yield from _members(node)
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            yield from (name.id for name in ast.walk(statement) if _is_stored(name))


def _members(node: ast.ClassDef) -> Iterator[str]:
    """Yield methods and attributes; the fields of a Struct are names of the API, and stay."""
    is_struct = any("Struct" in ast.unparse(base) for base in node.bases)
    for inner in node.body:
        if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{node.name}.{inner.name}"
        elif isinstance(inner, ast.AnnAssign) and not is_struct:
            yield f"{node.name}.{ast.unparse(inner.target)}"


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _banned_names(modules: Modules) -> list[str]:
    banned = frozenset((PHRASES / "names.txt").read_text(encoding="utf-8").split())
    found = []
    for place, tree in modules.items():
        if _is_banned(Path(place).stem, banned):
            found.append(place)
        names = sorted(set(_names(tree)))
        found += [
            f"{place} {name}"
            for name in names
            if name not in ACCEPTED and _is_banned(name.split(".")[-1], banned)
        ]
    return found


def test_names_in_the_code_are_not_banned(modules: Modules) -> None:
    assert _banned_names(modules) == _left("names_left.txt")


def _local_names(tree: ast.Module) -> Iterator[str]:
    """Yield the parameters and variables of a module's functions."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for node in ast.walk(function):
                if isinstance(node, ast.arg):
                    yield node.arg
                elif _is_stored(node):
                    yield node.id


def test_parameters_and_variables_have_no_banned_names(modules: Modules) -> None:
    banned = frozenset((PHRASES / "locals.txt").read_text(encoding="utf-8").split())
    found = [
        f"{place} {name}"
        for place, tree in modules.items()
        for name in sorted(set(_local_names(tree)))
        if _is_banned(name, banned)
    ]

    assert found == []


MAX_LINES: Final = 5


def _long_lived(tree: ast.AST, banned: frozenset[str], prefix: str = "") -> Iterator[str]:
    """Yield the banned names that a function uses over more than five lines."""
    for node in ast.iter_child_nodes(tree):
        name = prefix + (getattr(node, "name", None) or "")
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines: dict[str, list[int]] = {}
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name) and inner.id in banned:
                    lines.setdefault(inner.id, []).append(inner.lineno)
            arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            for argument in arguments & banned:
                lines.setdefault(argument, []).append(node.lineno)
            own = arguments | {each.id for each in ast.walk(node) if _is_stored(each)}
            for each, at in sorted(lines.items()):
                if each in own and max(at) - min(at) > MAX_LINES:
                    yield f"{name} {each}"
        nested = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        yield from _long_lived(node, banned, f"{name}." if nested else prefix)


def test_vague_names_are_used_within_five_lines(modules: Modules) -> None:
    banned = frozenset((PHRASES / "short_names.txt").read_text(encoding="utf-8").split())
    found = [
        f"{place} {name}" for place, tree in modules.items() for name in _long_lived(tree, banned)
    ]

    assert found == _left("short_names_left.txt")


def test_test_names_contain_no_banned_words() -> None:
    banned = "|".join((PHRASES / "test_names.txt").read_text(encoding="utf-8").split())
    pattern = re.compile(rf"def (test_(?:\w+_)?(?:{banned})(?:_\w+)?)\(")
    found = [
        f"{path.relative_to(ROOT)} {name}"
        for folder in ("tests", "e2e")
        for path in sorted((ROOT / folder).rglob("test_*.py"))
        for name in pattern.findall(path.read_text(encoding="utf-8"))
    ]

    assert found == []


def test_class_names_are_unique_in_the_package(modules: Modules) -> None:
    places: dict[str, list[str]] = {}
    for place, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(place)
    several = [f"{name} {' '.join(found)}" for name, found in sorted(places.items()) if found[1:]]

    assert several == _left("classes_left.txt")


def _summaries(modules: Modules) -> Iterator[tuple[str, str]]:
    """Yield the first paragraph of each docstring of the backend."""
    for place, tree in modules.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                summary = (ast.get_docstring(node) or "").split("\n\n")[0]
                yield place, " ".join(summary.split())


def test_docstring_summaries_use_plain_words(modules: Modules) -> None:
    assert _counted(_summaries(modules), _phrases("docstrings.txt")) == []


def _documents() -> Iterator[tuple[str, str]]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    for path in sorted(page for page in pages if "adr" not in page.parts):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def _backend_texts(modules: Modules) -> Iterator[tuple[str, str]]:
    """Yield the texts that the backend prints, reports and answers.

    Docstrings and keys of dictionaries are left out: keys are the fields of API answers.
    """
    for place, tree in modules.items():
        left_out = {
            id(node.body[0].value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        left_out |= {
            id(key) for node in ast.walk(tree) if isinstance(node, ast.Dict) for key in node.keys
        }
        strings = [
            str(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in left_out
        ]
        yield place, "\n".join(strings)


def _counted(texts: Iterator[tuple[str, str]], banned: re.Pattern[str]) -> list[str]:
    """Return each phrase with its place and its count there."""
    found = []
    for place, text in texts:
        counts = Counter(" ".join(each.lower().split()) for each in banned.findall(text))
        found += [f"{place} {phrase} {count}" for phrase, count in sorted(counts.items())]
    return found


def test_documents_use_plain_words() -> None:
    assert _counted(_documents(), _phrases("phrases.txt")) == _left("documents_left.txt")


def test_texts_of_the_backend_use_plain_words(modules: Modules) -> None:
    assert _counted(_backend_texts(modules), _phrases("phrases.txt")) == _left("texts_left.txt")
