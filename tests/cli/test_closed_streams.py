"""Standard streams and output files that are closed, full, or not regular files."""

import os
import shlex
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import nursery
from living import Home

HEADER = '{"lamplighter":1,'


@pytest.fixture
def home(tmp_path: Path) -> Home:
    found = Home(tmp_path / "home")
    found.ask("memory", "add", "timing", "web takes 60 s to start")
    return found


def run(home: Home, words: str, *, redirect: str = "") -> tuple[int, str, str]:
    """Run a command with redirected streams in a shell; return its status and output."""
    env = {**home.env, "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    line = f"{shlex.quote(sys.executable)} -m lamplighter {words} {redirect}"
    done = subprocess.run(
        ["sh", "-c", line], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("words", ["--help", "--version", "memory list", "export", "settings"])
def test_a_full_output_is_reported_in_one_line(home: Home, words: str) -> None:
    status, _, error = run(home, words, redirect=">/dev/full")

    assert status == 2
    assert error.startswith("lamplighter: ")
    assert error.endswith("No space left on device\n")
    assert error.count("\n") == 1


@pytest.mark.parametrize("words", ["import {}", "import --json {}"])
def test_an_import_whose_result_cannot_be_printed_is_reported_as_done(
    home: Home, tmp_path: Path, words: str
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("The pool holds 40 connections.\n")

    status, _, error = run(home, words.format(file), redirect=">/dev/full")

    assert (status, error) == (
        1,
        "lamplighter: Imported 1 memory. The output cannot be printed: No space left on device.\n",
    )
    assert home.value("SELECT count(*) FROM memories") == 2


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("memory add timing 'The pool is cold for 60 s.'", "Added memory 2."),
        ("memory confirm --json 1", "Confirmed memory 1."),
        (
            "token create --scope read",
            "Created token 2, which won't be shown again: revoke it.",
        ),
    ],
)
def test_a_change_whose_result_cannot_be_printed_is_reported(
    home: Home, words: str, result: str
) -> None:
    status, _, error = run(home, words, redirect=">/dev/full")

    expected = f"lamplighter: {result} The output cannot be printed: No space left on device.\n"
    assert (status, error) == (1, expected)


def test_a_backup_whose_path_cannot_be_printed_is_reported_as_created(home: Home) -> None:
    status, _, error = run(home, "backup", redirect=">/dev/full")

    [made] = (home.path / "backups").glob("*/")
    assert status == 1
    assert error.splitlines()[-1] == (
        f"lamplighter: Created {made}. The output cannot be printed: No space left on device."
    )


def test_a_backup_and_a_restore_do_not_need_their_error_stream(home: Home) -> None:
    status, path, _ = run(home, "backup", redirect="2>/dev/full")
    restored, _, _ = run(home, f"restore --replace {path}", redirect="2>/dev/full")
    told, _, error = run(home, f"restore --replace --json {path.strip()}", redirect=">/dev/full")

    assert (status, restored, told) == (0, 0, 1)
    assert error.splitlines()[-1].startswith(f"lamplighter: Restored {path.strip()}. The previous")


@pytest.mark.parametrize(("words", "expected"), [("backup /proc/x", 2), ("import {}", 1)])
def test_the_status_of_a_failure_does_not_depend_on_full_streams(
    home: Home, tmp_path: Path, words: str, expected: int
) -> None:
    (tmp_path / "notes.md").write_text("The pool holds 40 connections.\n")

    words = words.format(tmp_path / "notes.md")
    status, _, _ = run(home, words, redirect=">/dev/full 2>/dev/full")

    assert status == expected


def test_a_reader_that_leaves_ends_an_export_silently(home: Home) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        process = nursery.start("export", env=home.env, stdout=output, stderr=-1)
    error = process.communicate(timeout=60)[1]

    assert (process.returncode, error) == (1, b"")


def test_an_export_to_a_closed_output_fails(home: Home) -> None:
    assert run(home, "export", redirect=">&-") == (
        2,
        "",
        "lamplighter: Cannot write the output: Bad file descriptor\n",
    )


def test_a_closed_error_stream_stops_no_command(home: Home) -> None:
    status, output, _ = run(home, "export", redirect="2>&-")

    assert status == 0
    assert output.startswith(HEADER)


@pytest.mark.parametrize("words", ["import -", "memory add timing -"])
def test_a_closed_input_is_an_empty_one(home: Home, words: str) -> None:
    status, _, error = run(home, words, redirect="<&-")

    assert status == 2
    assert error.startswith("lamplighter: ")
    assert error.count("\n") == 1


def test_an_export_writes_to_a_pipe_and_does_not_replace_it(home: Home, tmp_path: Path) -> None:
    pipe, received = tmp_path / "pipe", list[str]()
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: received.append(pipe.read_text()))
    reader.start()

    done = home.ask("export", "--output", str(pipe))
    reader.join(20)

    assert done.returncode == 0, done.stderr
    assert received[0].startswith(HEADER)
    assert pipe.is_fifo()


def test_an_export_to_a_link_replaces_its_target(home: Home, tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("old")
    link.symlink_to(target)

    done = home.ask("export", "--output", str(link))

    assert done.returncode == 0, done.stderr
    assert link.is_symlink()
    assert target.read_text().startswith(HEADER)


@pytest.mark.parametrize("output", ["", ".", "/", ".."])
def test_an_export_to_a_directory_is_refused(home: Home, output: str) -> None:
    done = home.ask("export", "--output", output)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"lamplighter: Cannot write {Path(output)}: Is a directory\n"


def test_an_export_to_the_longest_name_leaves_only_that_file(home: Home, tmp_path: Path) -> None:
    output = tmp_path / "out" / ("x" * 255)
    output.parent.mkdir()

    done = home.ask("export", "--output", str(output))

    assert done.returncode == 0, done.stderr
    assert list(output.parent.iterdir()) == [output]
