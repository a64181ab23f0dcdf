"""A fake engine: prints the output of a model's session. Run by the engine `exec`.

`engine.py numbered COUNT PAUSE` prints numbered memory markers; if a file GO is named, the second
half follows once the file exists. `engine.py MODE` misbehaves.
"""

import json
import os
import signal
import subprocess
import sys
import time


def say(**line: object) -> None:
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def text(words: str) -> None:
    say(type="assistant", message={"content": [{"type": "text", "text": words}]})


def result(**more: object) -> None:
    done = {"subtype": "success", "is_error": False, "num_turns": 1, "total_cost_usd": 0.01}
    say(type="result", **{**done, "result": "Report", **more})


def numbered(count: str, pause: str, go: str = "") -> None:
    say(type="system", subtype="init")
    for number in range(int(count)):
        while go and number == int(count) // 2 and not os.path.exists(go):
            time.sleep(0.01)
        # of a service each: nearly the same number, said of the same, is the same memory
        text(f"[MEMORY:behavior:svc{number}] Fact number {number}")
        time.sleep(float(pause))
    result()


def lines(*words: str) -> None:
    say(type="system", subtype="init")
    for word in words:
        text(word.replace("\\n", "\n"))
    result()


def leaves_children() -> None:
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], start_new_session=True)
    text("[EVENT:info] left a child")
    result()


def hangs() -> None:
    text("[EVENT:info] hanging")
    time.sleep(300)


def silent() -> None:
    time.sleep(300)


def ignores_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hangs()


def ignores_signals() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ignores_interrupts()


def endless() -> None:
    """Print one line that never ends."""
    text("[EVENT:info] hanging")
    while True:
        os.write(1, b"x" * 4096)
        time.sleep(0.02)


def floods(*_: str) -> None:
    """Print lines without an end, much faster than any reader."""
    text("[EVENT:info] looked")
    lines = (b"nothing of interest " * 50 + b"\n") * 1_048
    while True:
        sys.stdout.buffer.write(lines)


def floods_errors(*_: str) -> None:
    """Print to standard error without an end, then fail at the size limit of the file."""
    text("[EVENT:info] looked")
    while True:
        sys.stderr.buffer.write(b"nothing of interest " * 50 + b"\n")


def daemons() -> None:
    """Leave grandchildren behind that no session, group or environment identifies."""
    wait = "import os, time; os.setsid(); os.fork() and os._exit(0); time.sleep(300)"
    for _ in range(3):
        subprocess.Popen([sys.executable, "-S", "-c", wait, *sys.argv], env={})
    hangs()


def odd() -> None:
    say(type="system", subtype="init")
    os.write(1, b"\x00\xff\xfe binary \x80\n")
    os.write(1, b"x" * 16 * 2**20 + b"\n")
    os.write(1, b'{"type":"assistant","message":' + b"[" * 100_000 + b"\n")
    os.write(
        1, b'{"type": "assistant", "message": {"content": [{"type": "text", "text": "\\ud800"}]}}\n'
    )
    text("[MEMORY:timing:odd] Still heard after all that")
    result()


def lingers() -> None:
    text("[EVENT:info] done, but I stay")
    result()
    time.sleep(300)


def spends(turns: str, dollars: str, pause: str, ends: str = "") -> None:
    """Take turns at this cost each ("?": unknown), and report it after each."""
    say(type="system", subtype="init")
    total = 0.0
    for turn in range(1, int(turns) + 1):
        text(f"[MEMORY:behavior:svc{turn}] Fact number {turn}")
        total += 0.0 if dollars == "?" else float(dollars)
        usage = {"input_tokens": 10 * turn, "output_tokens": turn}
        cost = None if dollars == "?" else round(total, 6)
        say(type="system", subtype="spent", num_turns=turn, usage=usage, total_cost_usd=cost)
        time.sleep(float(pause))
    if ends == "hangs":
        time.sleep(300)
    result(num_turns=int(turns), total_cost_usd=None if dollars == "?" else round(total, 6))


def tool(name: str, answer: str, pause: str = "0") -> None:
    """Use the engine's own tool, and print its result."""
    used = {"type": "tool_use", "id": "u1", "name": name, "input": {"command": "ping db"}}
    say(type="assistant", message={"content": [used]})
    time.sleep(float(pause))
    told = {"type": "tool_result", "tool_use_id": "u1", "content": answer}
    say(type="user", message={"content": [told]})
    result()


def dies(after: str = "") -> None:
    """End by SIGKILL, as when memory runs out."""
    text("[EVENT:info] growing")
    if after:
        result()
    os.kill(os.getpid(), signal.SIGKILL)


def errs() -> None:
    text("[EVENT:info] trying")
    result(is_error=True, subtype="error_during_execution", errors=["the disk is gone"])


def leaves(code: str) -> None:
    result()
    sys.exit(int(code))


def fails() -> None:
    text("[EVENT:info] about to fail")
    sys.stderr.write("no disk left\n")
    sys.exit(3)


def reads() -> None:
    given = json.load(sys.stdin)
    text(f"[EVENT:info] told {len(given['injected'])} characters")
    result(result=given["injected"])


if __name__ == "__main__":
    mode, *given = sys.argv[1:]
    globals()[mode](*(each for each in given if not each.startswith("--mark=")))
