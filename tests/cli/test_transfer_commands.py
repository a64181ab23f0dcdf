"""`lamplighter export` and `lamplighter import`, on the command line."""

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from living import Home

Run = Callable[..., Result]
NONE = {"created": 0, "revised": 0, "unchanged": 0, "skipped": 0, "sessions": 0, "prompts": 0}
ROW = {
    "id": 7,
    "session_id": "s-7",
    "type": "decision",
    "title": "WAL",
    "content": "Use WAL mode",
    "project": "shop",
    "created_at": "2025-04-01T12:00:00Z",
}


def document(*rows: dict[str, Any]) -> str:
    return json.dumps({"exported_at": "", "sessions": [], "observations": rows}, indent=1)


def taken(run: Run, *words: str, given: str | None = None, status: int = 0) -> dict[str, Any]:
    done = run("import", "--json", *words, given=given)
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "export.json"
    path.write_text(document(ROW, {**ROW, "id": 8, "content": "Another"}))
    return path


def test_import_skips_links_that_lead_out_of_the_directory(run: Run, tmp_path: Path) -> None:
    notes, outside = tmp_path / "notes", tmp_path / "outside.md"
    notes.mkdir()
    outside.write_text("Nobody's business")
    (notes / "own.md").write_text("Our own")
    (notes / "again.md").symlink_to("own.md")
    (notes / "out.md").symlink_to(outside)

    came = taken(run, str(notes), status=1)

    assert [each["place"] for each in came["faults"]] == ["out.md"]
    assert "is a link out of the directory" in came["faults"][0]["error"]
    assert "business" not in run("export").stdout
    assert taken(run, str(notes / "out.md"))["created"] == 1  # who names it means it


@pytest.mark.parametrize("form", ["lamplighter", "agentops", "engram"])
def test_an_export_imports_into_the_same_and_an_empty_database(
    run: Run, file: Path, home: Path, form: str
) -> None:
    assert taken(run, str(file))["created"] == 2
    out = file.with_name("out")

    done = run("export", "--format", form, "--output", str(out))
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr == "Exported 2 memories and 1 session.\n"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert taken(run, str(out))["unchanged"] == 2

    shutil.copy(home / "lamplighter.db", file.with_name("before"))
    for op in ("memories", "sessions", "history", "changes", "imports"):
        Home(home).write(f"DELETE FROM {op}")
    assert taken(run, str(out)) == {
        **NONE,
        "created": 2,
        "sessions": 1,
        "dry_run": False,
        "faults": [],
    }


def test_export_writes_to_stdout_and_import_reads_from_stdin(run: Run, file: Path) -> None:
    run("import", str(file))

    printed = run("export", "--project", "SHOP")
    again = run("import", "-", given=printed.stdout.replace("Use WAL", "Use the WAL"))

    assert [next(iter(json.loads(line))) for line in printed.stdout.splitlines()] == [
        *("lamplighter", "session", "memory", "memory"),
    ]
    assert again.stdout == "Imported 0 memories (1 revised, 1 unchanged).\n"


def test_import_reports_invalid_rows_and_imports_the_others(run: Run, file: Path) -> None:
    file.write_text(document(ROW, {"content": 7}, {**ROW, "id": 9, "title": "t" * 501}))

    done = run("import", str(file))

    assert done.exit_code == 1
    assert done.stdout == "Imported 1 memory.\n"
    assert done.stderr.splitlines() == [
        "lamplighter: observations 2: content: is not text",
        "lamplighter: observations 3: title: is longer than 500 characters",
    ]


def test_a_strict_import_with_an_invalid_row_imports_nothing(run: Run, file: Path) -> None:
    file.write_text(document(ROW, {"content": 7}))

    found = taken(run, "--strict", str(file), status=2)
    said = run("import", "--strict", str(file))

    assert {name: found[name] for name in NONE} == NONE
    assert [each["place"] for each in found["faults"]] == ["observations 2"]
    assert said.stdout == "Nothing was imported.\n"
    assert run("memory", "list").stdout == ""
    file.write_text(document(ROW))
    assert taken(run, "--strict", str(file))["created"] == 1


def test_a_dry_run_of_an_import_counts_and_stores_nothing(run: Run, file: Path) -> None:
    done = run("import", "--dry-run", str(file))

    assert done.stdout == "Would import 2 memories.\n"
    assert run("memory", "list").stdout == ""


def test_import_of_a_truncated_file_imports_the_rows_before_the_cut(run: Run, file: Path) -> None:
    file.write_text(file.read_text()[:-60])

    done = run("import", str(file))

    assert done.exit_code == 1
    assert done.stdout == "Imported 1 memory.\n"
    assert "the rest was not read" in done.stderr


def test_import_reports_an_invalid_line_of_a_native_export(run: Run, file: Path) -> None:
    run("import", str(file))
    lines = run("export").stdout.splitlines()
    lines[2] = lines[2][:-9]
    file.write_text("\n".join(lines))

    found = taken(run, str(file), status=1)

    assert found["unchanged"] == 1
    assert found["faults"] == [{"place": "line 3", "error": "line: is not JSON"}]


def test_import_reads_a_directory_of_markdown_notes(run: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    for name, text in (
        ("b.md", "---\ntags: [x]\n---\n# B\n\ntwo\n\n## C\n\nthree\n"),
        ("a/a.md", "one"),
        (".hidden/h.md", "hidden"),
        ("a/other.txt", "other"),
    ):
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text)
    (notes / "bad.md").write_bytes(b"\xff\xfe\x00")

    whole = taken(run, "--project", "Desk", str(notes), status=1)
    again = taken(run, "--project", "Desk", str(notes), status=1)
    parts = taken(run, "--project", "Desk", "--sections", str(notes / "b.md"))

    assert (whole["created"], again["unchanged"], parts["created"]) == (2, 2, 2)
    assert whole["faults"] == [{"place": "bad.md", "error": "is not UTF-8"}]
    kept = json.loads(run("memory", "list", "--json", "--sort", "created").stdout)["items"]
    assert [(each["title"], each["source_ref"], each["project"]) for each in kept[::-1]] == [
        ("B", "b.md#4", "desk"),
        ("a", "a/a.md#1", "desk"),
        ("B", "b.md#4", "desk"),
        ("C", "b.md#8", "desk"),
    ]


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("gone.json", None, "does not exist"),
        ("x.csv", "id,content\n1,x\n", "is neither an export nor Markdown"),
    ],
)
def test_import_rejects_an_unreadable_file_with_the_reason(
    run: Run, tmp_path: Path, name: str, text: str | None, why: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)

    done = run("import", str(tmp_path / name))

    assert (done.exit_code, done.stdout) == (2, "")
    assert why in done.stderr


def test_import_rejects_a_json_object_that_is_not_an_export(run: Run, file: Path) -> None:
    file.write_text('{"version": 3, "items": [{"content": "x"}]}')
    done = run("import", str(file))
    file.write_text('{"version": "0.1", "observations": null}')
    empty = run("import", str(file))

    assert done.exit_code == 2
    assert "is not an export: it has no observations, prompts, sessions" in done.stderr
    assert (empty.exit_code, empty.stderr) == (0, "")


def test_export_reports_an_output_path_that_cannot_be_written(run: Run, tmp_path: Path) -> None:
    done = run("export", "--output", str(tmp_path / "no" / "where"))

    assert done.exit_code == 2
    assert "Cannot write" in done.stderr


def test_an_import_writes_a_session_and_a_batch_to_the_change_feed(
    run: Run, file: Path, home: Path
) -> None:
    run("import", str(file))

    entities = Home(home).rows("SELECT entity, op FROM changes ORDER BY seq")
    assert entities == [("session", "created"), ("memory", "batch")]
