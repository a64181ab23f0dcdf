"""Login from the command line: one-time links, tokens, and the token of the home."""

import json
import stat
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import httpx2
import pytest
from homes import Home

from lamplighter.repository.store import driver
from living import free_port

LINK = "/login?code="
Ask = Callable[..., httpx2.Response]


@pytest.fixture
def url(home: Home) -> str:
    port = free_port()
    home.env["LAMPLIGHTER_PORT"] = str(port)
    return f"http://127.0.0.1:{port}"


def ready(url: str) -> bool:
    with suppress(httpx2.HTTPError):
        return httpx2.get(f"{url}/readyz", timeout=5).status_code == 200
    return False


def served(home: Home, url: str, *words: str) -> str:
    """Start a server and return its output up to its first response."""
    home.start(*words)
    home.until(lambda: ready(url))
    return (home.path / "log").read_text()


def link_in(text: str) -> str:
    [word] = [word for word in text.split() if LINK in word]
    return word


def who(url: str, words: str) -> int:
    headers = {"Authorization": f"Bearer {words}"}
    return httpx2.get(f"{url}/api/v1/login", headers=headers, timeout=20).status_code


@pytest.mark.parametrize("words", ["up", "web"])
def test_first_start_prints_a_one_time_login_link(home: Home, url: str, words: str) -> None:
    said = served(home, url, words)

    assert said.count(LINK) == 1
    link = link_in(said)
    assert link.startswith(url)
    with httpx2.Client(timeout=20) as browser:
        came = browser.get(link)
        assert came.status_code == 200
        assert browser.get(f"{url}/api/v1/login").json()["kind"] == "login"
    assert httpx2.get(link, timeout=20).status_code == 401


def test_start_with_a_login_explains_the_login_command(home: Home, url: str) -> None:
    link = link_in(served(home, url, "web"))
    httpx2.get(link, timeout=20)
    [first] = home.started
    first.kill()
    first.wait()

    said = served(home, url, "web")

    assert said.count(LINK) == 1
    assert "Run `lamplighter login` for a login link." in said


def test_login_command_prints_a_link_with_and_without_a_server(home: Home, url: str) -> None:
    before = home.run("login")
    served(home, url, "web")
    during = home.run("login")

    for done in (before, during):
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"{url}{LINK}")
    assert httpx2.get(before.stdout.strip(), timeout=20).status_code == 401
    assert httpx2.get(during.stdout.strip(), timeout=20).status_code == 200


def test_token_commands_create_list_and_revoke_on_a_new_home(home: Home, url: str) -> None:
    made = home.run(
        *("token", "create", "--scope", "read", "--scope", "events:write,memories:write"),
        *("--name", "backup", "--days", "30", "--json"),
    )
    token = json.loads(made.stdout)
    served(home, url, "web")

    assert {"id", "token", "name", "scopes", "expires_at"} <= set(token)
    assert token["scopes"] == ["read", "events:write", "memories:write"]
    assert who(url, token["token"]) == 200
    listed = home.run("token", "list")
    assert (
        f"Token {token['id']}: backup, read, events:write, memories:write, expires "
        in listed.stdout
    )
    as_json = json.loads(home.run("token", "list", "--json").stdout)
    assert [each["id"] for each in as_json] == [token["id"], 1]
    assert "token" not in as_json[0]
    assert home.run("token", "revoke", str(token["id"])).returncode == 0
    assert who(url, token["token"]) == 401


def test_token_create_prints_only_the_token_to_standard_output(home: Home) -> None:
    done = home.run("token", "create", "--scope", "read")

    assert done.stdout.startswith("lamp_")
    assert done.stdout.count("\n") == 1
    assert "read" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["create", "--scope", "reed"], "scopes: must contain only known scopes, not 'reed'"),
        (["create"], "--scope"),
        (["create", "--scope", ","], "scopes: must contain at least one of admin"),
        (["create", "--scope", "read", "--days", "0"], "--days"),
        (
            ["create", "--scope", "read", "--name", "this machine"],
            "name: 'this machine' is reserved",
        ),
        (["revoke", "99"], "Active token 99 not found"),
        (["revoke", "x"], "ID"),
    ],
    ids=" ".join,
)
def test_token_command_rejects_invalid_options(home: Home, words: list[str], said: str) -> None:
    done = home.run("token", *words)

    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert home.value("SELECT count(*) FROM tokens WHERE name NOT LIKE 'this machine%'") in (
        0,
        None,
    )


def test_home_token_is_private_and_recreated(home: Home, url: str) -> None:
    home.run("token", "list")
    path = home.path / "token"
    first = path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    home.run("token", "list")
    kept = path.read_text()
    path.write_text("lamp_1_something_else_altogether\n")
    home.run("token", "list")
    second = path.read_text()
    path.unlink()
    served(home, url, "web")
    third = path.read_text()

    assert kept == first
    assert len({first, second, third}) == 3
    assert [who(url, each.strip()) for each in (first, second, third)] == [401, 401, 200]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_readable_token_file_is_made_private_and_reported(home: Home) -> None:
    home.run("token", "list")
    path = home.path / "token"
    path.chmod(0o644)

    seen = home.run("doctor")
    started = home.run("token", "list")

    assert f"BAD  Token {path}" in seen.stdout
    assert "was readable by other users" in started.stderr
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"ok   Token {path}" in home.run("doctor").stdout


def test_doctor_reports_running_processes_and_rejects_foreign_servers(
    home: Home, url: str, tmp_path: Path
) -> None:
    fresh = home.run("doctor")
    served(home, url, "web")
    alone = home.run("doctor")
    home.start("supervisor")
    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE status = 'completed'"))
    led = home.run("doctor")
    home.env["LAMPLIGHTER_HOME"] = str(tmp_path / "other")
    other = home.run("doctor")

    assert f"ok   Web process {url}: not running" in fresh.stdout
    assert f"ok   Web process {url}: accepts this home's token; supervisor offline" in alone.stdout
    assert f"ok   Web process {url}: accepts this home's token; supervisor online" in led.stdout
    assert f"BAD  {url} rejects this home's token" in other.stdout
    assert other.returncode == 1
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost"])
def test_web_accepts_only_configured_host_names(home: Home, url: str, host: str) -> None:
    home.env |= {"LAMPLIGHTER_HOST": host, "LAMPLIGHTER_HOSTS": "box.lan,lamp.example"}
    port = home.env["LAMPLIGHTER_PORT"]

    said = served(home, url, "web")

    shown = "127.0.0.1" if host == "0.0.0.0" else host
    assert link_in(said).startswith(f"http://{shown}:{port}/")
    asked = {
        name: httpx2.get(f"{url}/healthz", headers={"Host": name}, timeout=20).status_code
        for name in ("box.lan", f"lamp.example:{port}", "localhost", "evil.example", "0.0.0.0")
    }
    refused = {name for name, status in asked.items() if status == 403}
    assert refused == {"evil.example", "0.0.0.0"}


def test_token_command_reports_a_locked_database(home: Home) -> None:
    home.run("token", "list")

    with closing(driver.connect(str(home.path / "lamplighter.db"))) as connection:
        connection.execute("BEGIN IMMEDIATE")
        done = home.run("token", "create", "--scope", "read")

    assert done.returncode == 1
    assert "The database is not available" in done.stderr
    assert "Traceback" not in done.stderr
