"""The fault classes: how each is injected and healed, and its ground truth.

`root` is the service that fails first. `right` are the acts that repair it; if it is empty,
escalating the incident to a person is correct. `tries` are acts that may be tried once, in the
first incident, because only the attempt shows that they do not help. `harmful` acts make the fault
worse.
"""

import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from benchmarks.lab.units import Unit
from benchmarks.lab.world import HERE, World, can_mount, program

Step = Callable[[World], None]
STATEFUL: Final = frozenset({"restart postgres", "restart redis"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault class with its ground truth."""

    name: str
    root: str
    inject: Step
    heal: Step = lambda world: None
    right: frozenset[str] = frozenset()
    tries: frozenset[str] = frozenset()
    harmful: frozenset[str] = frozenset()
    probe: str = "front"
    """The user-visible failure, as the prober names it."""

    settings: Mapping[str, str] = field(default_factory=dict)
    needs: Callable[[], str] = lambda: ""
    """Why the class cannot run on this machine; empty if it can."""

    @property
    def handed_over(self) -> bool:
        """Whether a person must repair it."""
        return not self.right

    def is_harmful(self, act: str) -> bool:
        """Whether an act makes it worse: restarting a data store that is not the cause does."""
        return act in self.harmful or (act in STATEFUL and act not in self.right)


def send(name: str, number: signal.Signals) -> Step:
    """Return a step that sends a signal to a unit."""
    return lambda world: world.init.units[name].send(number)


def write(name: str, text: str) -> Step:
    """Return a step that writes a file of the world."""
    return lambda world: world.write(name, text)


def start(*names: str) -> Step:
    """Return a step that restarts units, without recording an act."""

    def step(world: World) -> None:
        for name in names:
            world.init.restart(name)

    return step


def steps(*each: Step) -> Step:
    """Combine several steps into one."""

    def step(world: World) -> None:
        for one in each:
            one(world)

    return step


def remove(name: str) -> Step:
    """Return a step that removes a file of the world."""
    return lambda world: world.path(name).unlink(missing_ok=True)


def without(name: str) -> Step:
    """Return a step that removes a file of the world and restarts the app."""
    return steps(remove(name), start("app"))


def squat(world: World) -> None:
    """Occupy the port of the app while it is down."""
    unit = world.init.units["app"]
    argv = (sys.executable, str(HERE / "programs" / "squatter.py"), str(world.ports["app"]))
    other = world.init.units["squatter"] = Unit("squatter", argv, world.path("squatter.out"))
    unit.send(signal.SIGKILL)
    other.start()


def leave_port(world: World) -> None:
    """End the program that holds the port."""
    world.init.units.pop("squatter").stop()
    world.init.restart("app")


def fill(world: World) -> None:
    """Fill the disk with removable files."""
    try:
        with world.path("disk/cache-1").open("wb") as file:
            while True:
                file.write(bytes(65_536))
                file.flush()
    except OSError:
        return


def fill_inodes(world: World) -> None:
    """Use up the inodes with empty files."""
    try:
        for number in range(1_000):
            world.path(f"disk/cache-{number}").touch()
    except OSError:
        return


def empty(world: World) -> None:
    """Free space on the disk."""
    for each in world.path("disk").glob("cache-*"):
        each.unlink()


def certify(days: int) -> Step:
    """Return a step that gives nginx a certificate that is valid for this number of days."""

    def step(world: World) -> None:
        world.write_certificate(timedelta(days=days))
        world.init.units["nginx"].send(signal.SIGHUP)

    return step


def breaks_nginx(world: World) -> None:
    """Make the configuration of nginx invalid; the running process does not read it."""
    world.write_nginx("workers 4;\n")


def skew(seconds: int) -> Step:
    """Return a step that shifts the clock of the worker; 0 is the correct time."""

    def step(world: World) -> None:
        unit = world.init.units["worker"]
        plain = [each for each in unit.argv if each not in ("faketime", "-f", "+3600s")]
        unit.argv = tuple(["faketime", "-f", f"+{seconds}s", *plain] if seconds else plain)
        world.init.restart("worker")

    return step


def flap(world: World) -> None:
    """Interrupt and restore the link to Redis repeatedly."""

    def toggle() -> None:
        while world.path("flaps").exists():
            world.write("link", "down")
            time.sleep(7)
            world.write("link", "ok")
            time.sleep(7)

    world.write("flaps", "")
    threading.Thread(target=toggle, daemon=True).start()


def stop_flapping(world: World) -> None:
    """Keep the link up."""
    remove("flaps")(world)
    time.sleep(0.1)
    world.write("link", "ok")


def _mountable() -> str:
    return "" if can_mount() else "this user cannot mount a disk of its own"


def _faketime() -> str:
    return "" if shutil.which("faketime") else "faketime is not installed"


def _limits() -> str:
    return "" if shutil.which("prlimit") else "prlimit is not installed"


APP: Final = frozenset({"restart app"})
ANY_OF_APP: Final = frozenset({"restart app", "rollback app"})
"""The repairs that an operator declares for an app that does not answer."""

FAULTS: Final[tuple[Fault, ...]] = (
    Fault("kill", "app", send("app", signal.SIGKILL), start("app"), right=APP),
    Fault("hang", "app", send("app", signal.SIGSTOP), send("app", signal.SIGCONT), right=APP),
    Fault(
        "crash loop",
        "app",
        steps(write("crash", "4"), start("app")),
        steps(remove("crash"), start("app")),
        tries=ANY_OF_APP,
    ),
    Fault("slow", "app", write("slow", "2.2"), remove("slow")),
    Fault("port taken", "app", squat, leave_port, tries=ANY_OF_APP),
    Fault(
        "bad configuration while serving",
        "nginx",
        breaks_nginx,
        lambda world: world.write_nginx(),
        harmful=frozenset({"restart nginx"}),
    ),
    Fault(
        "bad configuration and down",
        "nginx",
        steps(breaks_nginx, send("nginx", signal.SIGKILL)),
        steps(lambda world: world.write_nginx(), start("nginx")),
        tries=frozenset({"restart nginx"}),
    ),
    Fault(
        "disk full",
        "storage",
        fill,
        empty,
        frozenset({"clean storage"}),
        probe="disk",
        needs=_mountable,
    ),
    Fault(
        "inodes full",
        "storage",
        fill_inodes,
        empty,
        frozenset({"clean storage"}),
        probe="disk",
        needs=_mountable,
    ),
    Fault("certificate expired", "nginx", certify(-1), certify(90)),
    Fault("DNS gone", "dns", send("dns", signal.SIGKILL), start("dns"), frozenset({"restart dns"})),
    Fault(
        "dependency down",
        "postgres",
        send("postgres", signal.SIGKILL),
        start("postgres", "app"),
        frozenset({"restart postgres"}),
    ),
    Fault("dependency slow", "redis", write("link", "0.5"), write("link", "ok")),
    Fault("memory limit", "app", write("leak", "1"), without("leak"), APP, needs=_limits),
    Fault("descriptor limit", "app", write("fds", "1"), without("fds"), APP, needs=_limits),
    Fault(
        "wrong password",
        "app",
        lambda world: world.set_password("another-password"),
        lambda world: world.set_password("first-password"),
        tries=ANY_OF_APP,
    ),
    Fault(
        "clock skew",
        "worker",
        skew(3600),
        skew(0),
        tries=frozenset({"restart worker"}),
        needs=_faketime,
    ),
    Fault("flapping link", "redis", flap, stop_flapping, settings={"LAMPLIGHTER_FLAP_LIMIT": "3"}),
    Fault(
        "deploy that breaks",
        "app",
        write("release", "2"),
        write("release", "1"),
        frozenset({"rollback app"}),
        tries=APP,
    ),
    Fault(
        "silent job",
        "backup",
        send("backup", signal.SIGKILL),
        start("backup"),
        frozenset({"restart backup"}),
        probe="job",
    ),
)
PAIRS: Final = (
    ("kill", "certificate expired"),
    ("dependency down", "silent job"),
    ("DNS gone", "disk full"),
)


def find(name: str) -> tuple[Fault, ...]:
    """Return a class, or a pair (`kill + silent job`). Raises KeyError with the valid names."""
    by_name = {each.name: each for each in FAULTS}
    return tuple(by_name[part.strip()] for part in name.split("+"))


def not_run(faults: tuple[Fault, ...]) -> str:
    """Return why faults cannot be injected on this machine; empty if they can."""
    programs = {"nginx": "nginx", "PostgreSQL": "postgres", "Redis": "redis-server"}
    absent = [name for name, file in programs.items() if program(file) is None]
    reasons = [f"{name} is not installed" for name in absent]
    return "; ".join([*reasons, *filter(None, (each.needs() for each in faults))])
