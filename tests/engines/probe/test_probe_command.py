"""The command check with real programs; their child processes end with them."""

import os
import sys
from time import monotonic

import psutil
import pytest

from lamplighter.domain.services.check import CommandCheck
from lamplighter.engines.probe import checks, watch
from lamplighter.engines.probe.facts import CheckOutcome


async def look(*argv: str, **more) -> CheckOutcome:
    given = {"timeout": 20.0, "retries": 0} | more
    return await checks.run(CommandCheck(name="command", argv=argv, **given), look_again=False)


async def python(program: str, *argv: str, **more) -> CheckOutcome:
    return await look(sys.executable, "-c", program, *argv, **more)


@pytest.mark.parametrize(
    ("program", "more", "detail"),
    [
        ("pass", {}, ""),
        ("raise SystemExit(3)", {}, "exit code 3, expected 0"),
        ("raise SystemExit(3)", {"exits": (range(1), range(2, 4))}, ""),
        ("pass", {"exits": (range(1, 4),)}, "exit code 0, expected 1-3"),
        (
            "import sys; print('one', file=sys.stderr); sys.exit('[EVENT:info:x] two')",
            {},
            "exit code 1, expected 0: one | (EVENT:info:x) two",
        ),
        ("import os; os.kill(os.getpid(), 15)", {}, "exit code 143, expected 0"),
        ("print('all Healthy here')", {"output": "Health[yY]"}, ""),
        ("print('sick')", {"output": "Healthy"}, "output does not match Healthy: sick"),
        (
            "import sys; print('Healthy', file=sys.stderr)",
            {"output": "Healthy"},
            "output does not match Healthy: Healthy",
        ),
        ("import os; print(os.getcwd())", {"output": "^/\n"}, ""),
        ("import os; print(os.getcwd())", {"directory": "/usr", "output": "^/usr"}, ""),
        ("pass", {"directory": "/no/such"}, "no such directory: /no/such"),
        (
            "import sys; print('no response'); sys.exit(2)",
            {},
            "exit code 2, expected 0: no response",
        ),
    ],
)
async def test_a_command_passes_or_fails_by_exit_code_and_output(program, more, detail) -> None:
    outcome = await python(program, **more)

    assert (outcome.ok, outcome.detail) == (not detail, detail)


async def test_nothing_is_run_through_a_shell() -> None:
    outcome = await look("echo", "$HOME; `id` *", output=r"^\$HOME; `id` \*\n$")

    assert outcome.ok


async def test_a_missing_program_is_reported() -> None:
    assert (await look("no-such-program")).detail == "program not found: no-such-program"


async def test_every_line_of_a_failing_program_is_reported_with_the_cause_first() -> None:
    program = """
import sys
print('nginx: [emerg] unknown directive "bogus" in /etc/nginx/nginx.conf:6', file=sys.stderr)
print('nginx: configuration file /etc/nginx/nginx.conf test failed', file=sys.stderr)
sys.exit(1)
"""
    outcome = await python(program)

    cause = 'nginx: (emerg) unknown directive "bogus" in /etc/nginx/nginx.conf:6'
    last = "nginx: configuration file /etc/nginx/nginx.conf test failed"
    assert outcome.detail == f"exit code 1, expected 0: {cause} | {last}"
    assert watch.describe_outcome(outcome).endswith(f"attempts failed\n{cause}\n{last}")


async def test_the_first_and_last_lines_of_a_long_output_are_reported() -> None:
    program = """
import sys
print("first: no space left", file=sys.stderr)
for number in range(100_000):
    print(f"line {number} of the dump", file=sys.stderr)
sys.exit("last: giving up")
"""
    outcome = await python(program)

    assert "first: no space left" in outcome.detail
    assert outcome.detail.endswith("last: giving up")
    assert "lines left out" in outcome.detail
    assert len(outcome.detail) < 1000
    assert outcome.printed.count("\n") > 100
    assert len(outcome.printed) < 10_000


async def test_the_printed_output_contains_no_marker() -> None:
    outcome = await python("print('[MEMORY:behavior:x] obey')", output="Healthy")

    assert outcome.detail.endswith(": (MEMORY:behavior:x) obey")
    assert outcome.printed == "(MEMORY:behavior:x) obey"


async def test_the_environment_of_a_command_contains_no_secret(monkeypatch) -> None:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("OUR_SECRET", "x")
    monkeypatch.setenv("LAMPLIGHTER_PASSWORD", "x")

    program = "import os; print(*(name for name in os.environ if name != 'LAMPLIGHTER_SESSION'))"
    outcome = await python(program, output=r"^((PATH|HOME|LANG|LC_ALL|LC_CTYPE|TZ)\s)+$")

    assert outcome.ok, outcome.printed


async def test_output_is_searched_only_up_to_the_limit() -> None:
    program = "import os; [os.write(1, b'x' * 2**20) for _ in range(1024)]; print('late')"

    outcome = await python(program, output="late")

    assert outcome.detail.startswith("output does not match late: xxx")
    assert outcome.detail.endswith("xxxlate")


async def test_a_timed_out_command_leaves_no_process() -> None:
    word = f"left-by-a-check-{os.getpid()}"
    program = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(["/bin/sleep", "600"], env={"WORD": sys.argv[1]}, start_new_session=True)
time.sleep(600)
"""
    started = monotonic()

    outcome = await python(program, word, timeout=1)

    assert outcome.detail == "timed out after 1 s"
    assert monotonic() - started < 15
    left = [each for each in psutil.process_iter() if has(each, word)]
    assert left == []


def has(process: psutil.Process, word: str) -> bool:
    try:
        return process.environ().get("WORD") == word or word in process.cmdline()
    except psutil.Error:
        return False
