"""The verdict on a command: the places of its paths, its substitutions, and declared rules."""

from dataclasses import replace

import pytest

from commands import JELLYFIN, RULES, SERVICES
from lamplighter.domain.services.service import Services
from lamplighter.domain.shell import patterns
from lamplighter.domain.shell.forms import (
    KINDS,
    RuleMismatch,
    command_rule,
    match_words,
    read_only_commands,
    read_rules,
)
from lamplighter.domain.shell.judge import (
    ActionCommand,
    PermittedCommand,
    RefusedCommand,
    judge_line,
)
from lamplighter.domain.shell.patterns import full_words_reason, refusal_reason
from lamplighter.domain.shell.rules import CommandPolicy


@pytest.mark.parametrize(
    ("line", "argv", "paths"),
    [
        ("/usr/bin/docker ps -a", ["docker", "ps", "-a"], []),
        (
            "tail -n 5 /var/log/a /var/log/b",
            ["tail", "-n", "5", "/var/log/a", "/var/log/b"],
            [3, 4],
        ),
        ("grep -- x /var/log/a", ["grep", "--", "x", "/var/log/a"], [3]),
        (
            "systemctl --no-pager -n 5 status nginx",
            ["systemctl", "status", "--no-pager", "-n", "5", "nginx"],
            [],
        ),
        (
            "git -C /opt/app status -s",
            ["git", "-C", "/opt/app", "status", "--ignore-submodules=all", "-s"],
            [2],
        ),
        (
            "diff -r /var/log/a /var/log/b",
            ["diff", "--no-dereference", "-r", "/var/log/a", "/var/log/b"],
            [3, 4],
        ),
    ],
)
def test_a_permitted_command_lists_its_arguments_and_paths(
    line: str, argv: list[str], paths: list[int]
) -> None:
    assert judge_line(line, RULES) == PermittedCommand(tuple(argv), tuple(paths))


def test_curl_runs_without_its_settings_file() -> None:
    found = judge_line("curl -s http://127.0.0.1:8096/health", RULES)

    assert isinstance(found, PermittedCommand)
    assert found.argv[:2] == ("curl", "-q")


def test_a_command_that_wraps_an_action_is_refused_with_its_name() -> None:
    for line in (
        "ssh nas docker restart jellyfin",
        "ssh nas 'docker restart jellyfin'",
        "timeout 5 /usr/bin/docker restart jellyfin",
        "sudo -u root docker restart jellyfin",
        "docker restart jellyfin postgres",
    ):
        found = judge_line(line, RULES)
        assert isinstance(found, RefusedCommand)
        assert "jellyfin has the action restart: use run_action" in found.why


def test_an_action_declared_with_sudo_is_recognized_without_it() -> None:
    action = replace(JELLYFIN.actions[0], argv=("sudo", "docker", "restart", "jellyfin"))
    rules = replace(RULES, services=Services((replace(JELLYFIN, actions=(action,)),)))

    for line in ("docker restart jellyfin", "sudo docker restart jellyfin"):
        assert judge_line(line, rules) == ActionCommand("jellyfin", "restart")


def test_an_action_takes_precedence_over_a_pattern() -> None:
    services = replace(SERVICES, shell=(("docker", "restart", "*"), ("docker", "**")))
    rules = replace(RULES, services=services)

    assert judge_line("docker restart jellyfin", rules) == ActionCommand("jellyfin", "restart")
    assert judge_line("sudo docker restart jellyfin", rules) == ActionCommand("jellyfin", "restart")
    assert judge_line("docker restart postgres", rules) == PermittedCommand(
        ("docker", "restart", "postgres"), declared=("docker", "restart", "*")
    )
    for line in ("docker restart -t 1 jellyfin", "docker restart postgres jellyfin"):
        assert isinstance(judge_line(line, rules), RefusedCommand), "it would go round the cooldown"


@pytest.mark.parametrize(
    ("pattern", "line", "fits"),
    [
        ("nginx -t", "nginx -t", True),
        ("nginx -t", "/usr/sbin/nginx -t", True),
        ("nginx -t", "/tmp/nginx -t", False),
        ("nginx -t", "nginx -t -q", False),
        ("nginx -t", "nginx", False),
        ("pct status *", "pct status 101", True),
        ("pct status *", "pct status", False),
        ("pct status *", "pct status 101 102", False),
        ("pct status *", "pct status --help", False),
        ("pct status *", "pct status ../x", False),
        ("cat /opt/*", "cat /opt/a", True),
        ("cat /opt/*", "cat /opt/a/b", False),
        ("cat /opt/*", "cat /opt/..", False),
        ("tool -o*", "tool -oab", True),
        ("tool show **", "tool show", True),
        ("tool show **", "tool show --all -x y", True),
        ("tool show **", "tool hide", False),
        ("/opt/tool x", "/opt/tool x", True),
        ("/opt/tool x", "tool x", False),
    ],
)
def test_a_pattern_matches_argument_by_argument(pattern: str, line: str, fits: bool) -> None:
    assert patterns.pattern_problem(tuple(pattern.split())) == ""
    assert patterns.matches(tuple(pattern.split()), line.split()) is fits


def test_a_program_that_runs_others_cannot_be_allowed_with_a_wildcard() -> None:
    runs = ["sudo", "env", "sh", "python3", "ssh", "xargs", "vi"]

    for program in runs:
        assert patterns.pattern_problem((program, "*"))
        assert patterns.pattern_problem((program, "x", "**"))
        assert patterns.pattern_problem((program, "x")) == ""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["-n", "5", "a"], ""),
        (["-n5", "a"], ""),
        (["-vn5", "a"], ""),
        (["--name=5", "a"], ""),
        (["--name", "5", "a"], ""),
        (["a", "-v"], ""),
        (["--", "a"], ""),
        (["-n", "a"], "'a' is not a valid number"),
        (["-n"], "-n needs a value"),
        (["-n", "-5", "a"], "-n needs a value"),
        (["--name="], "'' is not a valid number"),
        (["-vx", "a"], "the option -x is not on the list of read-only options"),
        (["--nam=5", "a"], "the option --nam is not on the list of read-only options"),
        (["--verbose=yes", "a"], "--verbose takes no value"),
        (["--", "-v"], "'-v' is not accepted as a name"),
        (["-"], "'-' is not accepted as a name"),
        ([], "an argument is missing: name"),
        (["a", "b"], "'b' is one argument too many"),
        (["--colour", "a"], ""),
        (["--colour=a", "a"], ""),
        (["--colour", "a", "a"], "'a' is one argument too many"),
    ],
)
def test_arguments_are_matched_against_a_rule_as_the_program_parses_them(
    words: list[str], problem: str
) -> None:
    shape = command_rule("-v -n=number --name=number --verbose --colour?=name name")

    try:
        match_words(shape, words, CommandPolicy())
        found = ""
    except RuleMismatch as wrong:
        found = str(wrong)
    assert found == problem


def test_every_rule_refers_to_existing_kinds_of_values() -> None:
    listed = read_only_commands()

    for shape in (*listed.rules.values(), *listed.leading.values(), *listed.common.values()):
        operands = {each.rstrip("?+*") for each in shape.operands}
        assert (set(shape.options.values()) - {""}) | operands <= set(KINDS)
        assert all(set(each.split("|")) <= set(shape.options) for each in shape.needs)


def test_no_harmful_command_is_on_the_list_of_read_only_commands() -> None:
    programs = {key.split()[0] for key in read_only_commands().rules}

    assert not any(map(refusal_reason, programs))
    assert full_words_reason("python3.11")
    assert not full_words_reason("pct")


def test_a_command_that_is_listed_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="docker top is listed twice"):
        read_rules({"docker|podman top": "name"}, {"docker ps|top": ""})


def test_a_refusal_names_the_subcommand() -> None:
    for line, name in (("docker rm -f x", "docker rm"), ("git -C /opt/app push", "git push")):
        verdict = judge_line(line, RULES)

        assert isinstance(verdict, RefusedCommand)
        assert verdict.why.startswith(f"{name} is not on the list of read-only commands")
