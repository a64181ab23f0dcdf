"""`lamplighter export --dir`, `plan`, `apply` and `lint`."""

import json
from pathlib import Path

FILE = "ops/jellyfin/takes-60s-to-start.md"
SLOW = ("memory", "add", "--category", "timing", "--service", "jellyfin", "Takes 60s to start")


def test_memories_are_exported_to_a_directory_planned_and_applied(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    root = tmp_path / "memory"
    assert run(*SLOW).exit_code == 0
    exported = run("export", "--dir", str(root))
    assert exported.output == "Files written: 1; removed: 0; unchanged: 0.\n"
    text = (root / FILE).read_text()
    assert text.startswith("---\ncategory: timing\nconfidence: ")
    assert text.endswith("\n---\n\nTakes 60s to start\n")
    assert run("plan", str(root)).output == "0 changes to apply. Nothing was changed.\n"

    (root / FILE).write_text(text.replace("60s", "70s"))
    planned = run("plan", str(root))
    assert f"change  {FILE} (observation)\n" in planned.output
    assert "+- [timing] Takes 70s to start" in planned.output
    refused = run("export", "--dir", str(root))
    assert (refused.exit_code, f"{FILE} was changed" in refused.output) == (2, True)

    assert run("apply", str(root)).output.endswith("Applied 1 change.\n")
    assert run("apply", str(root)).output == "There was nothing to apply.\n"
    listed = json.loads(run("plan", str(root), "--json").output)
    assert (listed["changes"], listed["refused"]) == ([], [])


def test_lint_prints_findings_as_text_github_annotations_or_json(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text("---\ncategory: timing\nservice: jellyfin\n---\n\nTakes 60s to start\n")
    well = run("lint", str(tmp_path))
    assert (well.exit_code, well.output.endswith("Files: 1. Errors: 0. Warnings: 0.\n")) == (
        0,
        True,
    )

    file.with_name("b.md").write_text("---\ncategory: mood\n---\n\nFeels slow\n")
    failed = run("lint", str(tmp_path), "--format", "github")
    assert failed.exit_code == 1
    assert f"::error file={file.with_name('b.md')},line=2,title=field::category: " in failed.output
    found = json.loads(run("lint", str(tmp_path), "--format", "json").output)["findings"]
    assert {each["level"] for each in found} == {"error", "notice"}


def test_apply_names_a_file_without_front_matter(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text("no front matter\n")

    refused = run("apply", str(tmp_path))

    assert refused.exit_code == 1
    assert f"refused {FILE}: category: is missing" in refused.output
    assert refused.output.endswith("\nNothing was applied.\n")
    assert run("plan", str(tmp_path / "missing")).exit_code == 2


def test_apply_says_that_an_unreadable_file_stops_it(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / FILE
    file.parent.mkdir(parents=True)
    file.write_text("---\ncategory: timing\n---\n\nTakes 60s to start\n")
    (file.parent / "odd.md").write_bytes(b"\xff")

    refused = run("apply", str(tmp_path))

    reason = "it is not UTF-8 text; nothing is applied until this is corrected"
    assert refused.exit_code == 1
    assert f"odd.md: {reason}" in refused.output


def test_a_file_that_vanishes_during_a_scan_is_left_out(run) -> None:  # type: ignore[no-untyped-def]
    linted = run("lint", "/proc/self/fd")  # lists the descriptor that lists it

    assert "Files: 0." in linted.output
