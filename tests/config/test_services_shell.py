"""The key `shell` of services.yaml: the commands that people may allow, and error messages."""

from pathlib import Path

import pytest

from lamplighter.config.services import ServicesError, load


def read(tmp_path: Path, *lines: str) -> tuple[tuple[str, ...], ...]:
    path = tmp_path / "services.yaml"
    path.write_text("\n".join(["shell:", *(f"  - {line}" for line in lines), "services: {}\n"]))
    return load(path).shell


def test_a_pattern_is_read_argument_by_argument(tmp_path: Path) -> None:
    assert read(tmp_path, "[nginx, -t]", '[pct, status, "*"]', '[/opt/tool, show, "**"]') == (
        ("nginx", "-t"),
        ("pct", "status", "*"),
        ("/opt/tool", "show", "**"),
    )


def test_a_file_without_shell_allows_no_commands(tmp_path: Path) -> None:
    path = tmp_path / "services.yaml"
    path.write_text("services: {}\n")

    assert load(path).shell == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("nginx -t", "found text; write it as a list: [nginx, -t]"),
        ("[]", "the command is empty: it needs a program"),
        ('["*"]', "the program name may not contain *"),
        ('["ngi*", -t]', "the program name may not contain *"),
        ("[./tool]", "'./tool' is neither a name nor an absolute path"),
        ('[tool, "**", x]', "** is allowed only as the last word"),
        ('[tool, "a**"]', "** is allowed only as the last word"),
        ('[sh, -c, "*"]', "sh is a shell: it can run any command; write out all its arguments"),
        ('[sudo, "**"]', "sudo runs commands as another user; write out all its arguments"),
        ('[/usr/bin/python3.11, "*"]', "/usr/bin/python3.11 runs arbitrary code;"),
        ("[nginx, {a: b}]", "found a mapping, wanted text"),
    ],
)
def test_an_error_is_reported_with_its_line(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(ServicesError) as caught:
        read(tmp_path, "[df, -h]", line)

    [problem] = caught.value.problems
    assert problem.line == 3
    assert message in problem.message


def test_more_than_200_commands_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(ServicesError, match="more than 200 commands"):
        read(tmp_path, *(["[df, -h]"] * 201))
