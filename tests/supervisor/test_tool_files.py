"""A session reads files below its roots only: no name and no replacement opens others."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from gates import opened
from toolboxes import box, refused, used

from lamplighter.domain.errors import LamplighterError
from lamplighter.repository import Database
from lamplighter.supervisor.tools.readable import DirectoryListing, FilePart, Readable
from lamplighter.supervisor.tools.toolbox import Toolbox

SECRET = "the crown jewels"
LINES = "".join(f"line {number:04}\n" for number in range(4_000))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Return a directory with a root, files next to the root, and links that lead out of it."""
    root = tmp_path / "logs"
    (root / "sub").mkdir(parents=True)
    (root / "main.log").write_text(LINES)
    (root / "sub" / "deep.log").write_text("deep\n")
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "logs-too").mkdir()
    (tmp_path / "logs-too" / "secret").write_text(SECRET)
    (root / "link").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("..")
    (root / "away").symlink_to(tmp_path / "logs-too")
    (root / "etc").symlink_to("/etc")
    (root / "loop").symlink_to("loop")
    (root / "self").symlink_to(root / "main.log")
    os.mkfifo(root / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
    home = root / "home"
    home.mkdir()
    (home / "token").write_text(SECRET)
    (home / "sub").mkdir()
    (home / "sub" / "file").write_text(SECRET)
    return tmp_path


@pytest.fixture
async def tools(db: Database, place: Path) -> Toolbox:
    root = place / "logs"
    session = await opened(db, tier=1)
    return box(db, session, roots=(root,), private=(root / "home", place / "lamplighter.db"))


async def test_read_file_returns_a_part_and_the_next_offset(tools: Toolbox, place: Path) -> None:
    path = str(place / "logs" / "main.log")

    first = await used(tools, "read_file", path=path, limit=20)
    middle = await used(tools, "read_file", path=path, offset=20, limit=10)
    last = await used(tools, "read_file", path=path, offset=-20)
    behind = await used(tools, "read_file", path=path, offset=10**9)

    assert first.text == (
        f"{path}, bytes 0 to 20 of 40,000; 39,980 more bytes from offset 20:\nline 0000\nline 0001"
    )
    assert middle.structured == {
        "path": path,
        "start": 20,
        "end": 30,
        "size": 40_000,
        "next": 30,
        "text": "line 0002",
    }
    assert last.text == f"{path}, bytes 39,980 to 40,000 of 40,000:\nline 3998\nline 3999"
    assert behind.text == f"{path}, bytes 40,000 to 40,000 of 40,000:"
    whole = await used(tools, "read_file", path=path, offset=-(10**9))
    assert whole.structured is not None
    assert (whole.structured["start"], whole.structured["end"]) == (0, 12_000)


async def test_read_file_lists_a_directory(tools: Toolbox, place: Path) -> None:
    answer = await used(tools, "read_file", path=str(place / "logs"))

    assert answer.text.endswith(
        "is a directory. Entries: away, etc, fifo, home/, link, loop, main.log, self, socket, "
        "sub/, up."
    )
    assert (await used(tools, "read_file", path=f"{place}/logs/sub/deep.log")).text.endswith("deep")


async def test_read_file_never_splits_a_multibyte_character(tools: Toolbox, place: Path) -> None:
    path = place / "logs" / "umlauts"
    path.write_text("äöü" * 10)

    parts, offset = [], 0
    while offset is not None and offset < 60:
        answer = await used(tools, "read_file", path=str(path), offset=offset, limit=7)
        assert answer.structured is not None
        parts.append(answer.structured["text"])
        offset = answer.structured["next"]

    assert "".join(parts) == "äöü" * 10


async def test_read_file_masks_secrets_at_any_offset(tools: Toolbox, place: Path) -> None:
    path = place / "logs" / "keys"
    key = "sk-ant-" + "k3y" * 20
    path.write_text(f"{'x' * 50} hunter2-hunter2 {'y' * 50} {key} end\n")

    seen = [
        (await used(tools, "read_file", path=str(path), offset=offset, limit=40)).text
        for offset in range(0, 180, 7)
    ]

    assert not [each for each in seen if "hunter2" in each or "k3yk3y" in each]
    assert any("***" in each for each in seen)


@pytest.mark.parametrize(
    "content", [b"\x7fELF\0\0", b"\0", bytes(range(128, 256)) * 20, b"text\0more"], ids=repr
)
async def test_read_file_rejects_binary_files(tools: Toolbox, place: Path, content: bytes) -> None:
    path = place / "logs" / "odd"
    path.write_bytes(content)

    assert (
        await refused(tools, "read_file", path=str(path)) == f"Not done. {path} is not a text file."
    )


OUTSIDE = [
    *("", "/", ".", "..", "~", "~root/.ssh/id_rsa", "main.log", "./main.log", "//etc/passwd"),
    *("/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/cmdline", "/dev/zero"),
    *("/sys/kernel/notes", "file:///etc/passwd", "C:\\windows\\win.ini", "\\\\host\\share"),
    *("{root}/../secret", "{root}/sub/../../secret", "{root}/./../secret", "{root}/..;/secret"),
    *(
        "{root}/../logs/../secret",
        "{root}/%2e%2e/secret",
        "{root}/..%2fsecret",
        "{root}/.../secret",
    ),
    *("{root}/\u2025/secret", "{root}/\uff0e\uff0e/secret", "{root}/..\u200b/secret"),
    *("{root}/sub\\..\\..\\secret", "{root}-too/secret", "{root}too/secret", "{root}\0/../secret"),
    *("{root}/main.log\0.txt", "{root}/../../../../../../etc/passwd", "{root}/~/secret"),
    *("{root}/link", "{root}/link/", "{root}/up/secret", "{root}/up/up/etc/passwd", "{root}/self"),
    *("{root}/up/logs/main.log", "{root}/away/secret", "{root}/away", "{root}/up", "{root}/etc"),
    *("{root}/etc/passwd", "{root}/loop", "{root}/loop/x", "{root}/fifo", "{root}/socket"),
    *("{root}/main.log/x", "{root}/main.log/../../secret", "{root}/nothing", "{root}/sub/nothing"),
    *("{root}/home", "{root}/home/", "{root}/home/token", "{root}/home/sub/file"),
    *("{root}/home/sub", "{root}/./home/token", "{root}//home//token", "{root}/sub/../home/token"),
    *(
        "{root}/" + "a" * 300,
        "{root}" + "/a" * 1_500,
        "/" * 4_000,
        "{root}/\ud800",
        "{root}/\x1b[2J",
    ),
    *("{place}/secret", "{place}/logs-too/secret", "{place}", "{place}/lamplighter.db"),
    *("$HOME/.ssh/id_rsa", "`id`", "{root}/$(id)", "{root}/*", "{root}/main.log;cat /etc/passwd"),
]


async def test_read_file_rejects_paths_outside_its_roots(tools: Toolbox, place: Path) -> None:
    assert len(OUTSIDE) > 75
    for name in OUTSIDE:
        path = name.format(root=place / "logs", place=place) if "{" in name else name
        answer = await box_use(tools, path)
        assert answer.is_error, name
        assert SECRET not in answer.text
        assert "root:" not in answer.text
        assert "fault of ours" not in answer.text, name


async def box_use(tools: Toolbox, path: str):  # type: ignore[no-untyped-def]
    return await asyncio.wait_for(tools.use("read_file", {"path": path}), 30)


async def test_read_file_explains_each_refusal(tools: Toolbox, place: Path) -> None:
    root = place / "logs"
    for name, words in {
        "link": "/link: it is a symbolic link, and links are not followed.",
        "up/secret": "/up/secret: it is a symbolic link, and links are not followed.",
        "main.log/x": "/main.log/x: a part of the path is a link or not a directory.",
        "nothing": "",
        "home/token": "The file belongs to Lamplighter. Sessions cannot read it.",
        "fifo": "The path is neither a file nor a directory. It was not opened.",
    }.items():
        assert (await refused(tools, "read_file", path=f"{root}/{name}")).endswith(words)
    assert await refused(tools, "read_file", path="/etc/passwd") == (
        f"Not done. /etc/passwd is outside the readable directories: {root}."
    )


def test_read_file_rejects_hard_links_to_files_of_lamplighter(place: Path) -> None:
    root, home = place / "logs", place / "logs" / "home"
    os.link(home / "token", root / "innocent")
    os.link(place / "secret", root / "database")
    (home / "sessions").mkdir()
    (home / "sessions" / "1.jsonl").write_text("{}")
    os.link(home / "sessions" / "1.jsonl", root / "output")
    ours = (home, place / "secret", place / "gone")

    for readable, path in (
        (Readable(roots=(root,), private=ours), root / "innocent"),
        (Readable(roots=(root,), private=ours), root / "database"),
        (Readable(roots=(root,), private=ours), root / "output"),
        (Readable(roots=(home,), private=ours), home / "token"),
        (Readable(roots=(home / "sub",), private=ours), home / "sub" / "file"),
        (
            Readable(roots=(root / "up" / "logs" / "home",), private=ours),
            root / "up/logs/home/token",
        ),
        (Readable(roots=(Path("/"),), private=ours), home / "token"),
        (Readable(roots=(Path("/"),)), Path("/proc/self/environ")),
        (Readable(roots=(Path("/proc/self"),)), Path("/proc/self/environ")),
        (Readable(roots=(Path("/"),)), Path("/sys/kernel/notes")),
    ):
        with pytest.raises(LamplighterError, match="Sessions cannot read it"):
            readable.read(str(path), offset=0, limit=100)
    os.link(root / "main.log", root / "main.old")
    assert Readable(roots=(root,), private=ours).read(str(root / "main.old"), offset=0, limit=9)


def test_readable_without_roots_rejects_every_file(place: Path) -> None:
    with pytest.raises(LamplighterError, match="outside the readable directories: none"):
        Readable().read(str(place / "secret"), offset=0, limit=100)


async def test_read_file_is_not_offered_without_roots(db: Database) -> None:
    tools = box(db, await opened(db))

    assert (await refused(tools, "read_file", path="/etc/hosts")).startswith(
        "Tool 'read_file' not found"
    )


ROUNDS = 1_000
EXCHANGE = """
import os, sys
spot, bait, kept = sys.argv[1:]
while True:
    os.rename(spot, kept)
    os.symlink(bait, spot)
    os.unlink(spot)
    os.rename(kept, spot)
"""


@pytest.fixture(params=["file", "directory"])
def exchanged(place: Path, request: pytest.FixtureRequest) -> tuple[str, str, str]:
    """Return the path to replace, its replacement, and the temporary place of the original."""
    there = place / "logs" / "there"
    there.mkdir()
    (there / "secret").write_text("harmless")
    spot = there / "secret" if request.param == "file" else there
    bait = place / "secret" if request.param == "file" else place / "logs-too"
    return str(spot), str(bait), str(place / "logs" / "kept")


def read_there(place: Path) -> bytes:
    path = place / "logs" / "there" / "secret"
    try:
        part = Readable(roots=(place / "logs",)).read(str(path), offset=0, limit=100)
    except LamplighterError:
        return b""
    assert isinstance(part, FilePart)
    return part.around


def test_repeatedly_swapped_link_reveals_no_file(
    place: Path, exchanged: tuple[str, str, str]
) -> None:
    swapping = subprocess.Popen([sys.executable, "-S", "-c", EXCHANGE, *exchanged])
    try:
        seen = {read_there(place) for _ in range(ROUNDS)}
    finally:
        swapping.kill()
        swapping.wait()

    assert seen <= {b"", b"harmless"}


def test_file_replaced_with_a_link_after_its_check_is_not_read(
    place: Path, exchanged: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    spot, bait, kept = exchanged
    look = os.stat

    def looked(name: str, **more: object) -> os.stat_result:
        found: os.stat_result = look(name, **more)  # type: ignore[call-overload]
        if name == Path(spot).name and not os.path.islink(spot):
            os.rename(spot, kept)
            os.symlink(bait, spot)
        return found

    assert read_there(place) == b"harmless"
    monkeypatch.setattr(os, "stat", looked)
    assert read_there(place) == b""
    assert os.path.islink(spot)


def test_readable_returns_the_requested_part_and_directory_entries(place: Path) -> None:
    path = place / "logs" / "sub" / "deep.log"
    found = Readable(roots=(place / "logs",)).read(str(path), offset=2, limit=1)
    names = Readable(roots=(place,)).read(str(place / "logs" / "sub"), offset=0, limit=1)

    assert found == FilePart(around=b"deep\n", skipped=2, start=2, end=3, size=5)
    assert names == DirectoryListing(("deep.log",), more=False)
