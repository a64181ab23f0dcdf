"""The effects of a failing check, with real services, programs, supervisors and engines."""

import ipaddress
import shlex
import ssl
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from homes import Home

ASKS = Path(__file__).parents[1] / "fakes" / "asks.py"

CAUSE = 'nginx: [emerg] unknown directive "bogus" in /etc/nginx/nginx.conf:6'
LAST = "nginx: configuration file /etc/nginx/nginx.conf test failed"
SHOWN_CAUSE = CAUSE.replace("[", "(").replace("]", ")")
CONFIG_TEST = """\
import pathlib, sys
if pathlib.Path(sys.argv[1]).exists():
    print({cause!r}, file=sys.stderr)
    print({last!r}, file=sys.stderr)
    sys.exit(1)
"""
TOUCH = "import pathlib, sys; pathlib.Path(sys.argv[1]).touch()"
UNLINK = "import pathlib, sys; pathlib.Path(sys.argv[1]).unlink()"


@dataclass
class Site:
    """A web server: it responds with 200, or with 503 while its directory holds the file `down`."""

    path: Path
    port: int

    def declare(self, home: Home, config_test: Path, *action: str) -> None:
        """Write a services.yaml with an HTTP check, a configuration test and a restart."""
        (home.path / "services.yaml").write_text(
            f"commands: [{sys.executable}]\n"
            "services:\n"
            "  web:\n"
            "    checks:\n"
            f"      - {{http: 'http://127.0.0.1:{self.port}/', retries: 0}}\n"
            f"      - {{command: [{sys.executable}, {config_test}, {self.path}/bad],\n"
            "         name: config, retries: 0}\n"
            "    actions:\n" + "".join(f"      {line}\n" for line in action)
        )

    def restart(self, program: str, name: str) -> str:
        return f'- restart: [{sys.executable}, -c, "{program}", {self.path}/{name}]'


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503 if (tmp_path / "down").exists() else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    yield Site(tmp_path, server.server_address[1])
    server.shutdown()
    serving.join()
    server.server_close()


def people(home: Home) -> list[tuple[object, ...]]:
    return home.rows("SELECT service, reason FROM escalations WHERE state = 'person'")


def outcomes(home: Home) -> list[tuple[object, ...]]:
    return home.rows("SELECT outcome, text FROM cooldowns")


@pytest.fixture
def config_test(tmp_path: Path) -> Path:
    """Return a program that tests a configuration: the test fails if a file exists next to it."""
    program = tmp_path / "config_test.py"
    program.write_text(CONFIG_TEST.format(cause=CAUSE, last=LAST))
    return program


def test_output_of_a_failing_check_is_included_in_the_notification(
    home: Home, config_test: Path
) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = "json://127.0.0.1:9"
    (config_test.parent / "bad").touch()
    (home.path / "services.yaml").write_text(
        f"commands: [{sys.executable}]\n"
        "services:\n"
        "  nginx:\n"
        "    checks:\n"
        f"      - command: [{sys.executable}, {config_test}, {config_test.parent}/bad]\n"
        "        name: config\n"
    )

    home.run("run", "--tier", "1")

    printed = f"{SHOWN_CAUSE} | {LAST}"
    for query in (
        "SELECT detail FROM checks",
        "SELECT detail FROM findings",
        "SELECT text FROM events WHERE level = 'critical' AND text NOT LIKE 'Needs a person%'",
        "SELECT text FROM events WHERE text LIKE 'Needs a person%'",
        "SELECT reason FROM escalations WHERE state = 'person'",
        "SELECT title FROM notices WHERE title LIKE 'Needs a person%'",
    ):
        found = [str(text) for (text,) in home.rows(query)]
        assert found, query
        assert all(printed in text for text in found), (query, found)
    page = b"".join(path.read_bytes() for path in (home.path / "sessions").glob("*.jsonl"))
    assert f"{SHOWN_CAUSE}\n{LAST}".replace('"', '\\"').replace("\n", "\\n").encode() in page


@pytest.mark.parametrize("engine", ["probe", "exec"])
def test_answering_service_is_not_restarted_for_a_failing_config_check(
    home: Home, site: Site, config_test: Path, engine: str
) -> None:
    site.declare(home, config_test, site.restart(TOUCH, "restarted"))
    (site.path / "bad").touch()
    if engine == "exec":
        home.env["LAMPLIGHTER_ENGINE"] = "exec"
        home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ASKS), "web"])

    home.run("run", "--tier", "3")

    assert not (site.path / "restarted").exists()
    [(outcome, why)] = outcomes(home)
    assert outcome == "refused"
    [(service, reason)] = people(home)
    for words in (why, reason):
        assert SHOWN_CAUSE in str(words)
        assert "web answers, and restart is declared only for no-answer" in str(words)
    assert service == "web"
    alarms = home.rows("SELECT text FROM events WHERE text LIKE 'Needs a person%'")
    assert [str(text).count(SHOWN_CAUSE) for (text,) in alarms] == [1]


def test_action_declared_for_the_failing_check_runs(
    home: Home, site: Site, config_test: Path
) -> None:
    site.declare(home, config_test, site.restart(UNLINK, "bad"), "  for: [config]")
    (site.path / "bad").touch()

    home.run("run", "--tier", "3")

    assert [outcome for outcome, _ in outcomes(home)] == ["success"]
    assert people(home) == []


def test_service_without_an_answer_is_restarted(home: Home, site: Site, config_test: Path) -> None:
    site.declare(home, config_test, site.restart(UNLINK, "down"))
    (site.path / "down").touch()

    home.run("run", "--tier", "3")

    assert [outcome for outcome, _ in outcomes(home)] == ["success"]


@pytest.mark.parametrize(
    ("repairs", "outcome", "words"),
    [
        (True, "success", "done"),
        (False, "unconfirmed", "done; not confirmed: http: answered 503"),
    ],
    ids=["repaired", "in vain"],
)
def test_action_of_a_model_succeeds_only_if_the_failing_check_passes(
    home: Home, site: Site, config_test: Path, repairs: bool, outcome: str, words: str
) -> None:
    home.env["LAMPLIGHTER_ENGINE"] = "exec"
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ASKS), "web"])
    home.env["LAMPLIGHTER_FLAP_LIMIT"] = "2"
    action = site.restart(UNLINK, "down") if repairs else site.restart(TOUCH, "restarted")
    site.declare(home, config_test, action, "  wait: 1s")

    for _ in range(2):
        (site.path / "down").touch()
        home.run("run", "--tier", "3")

    ended = home.rows("SELECT outcome, text, healthy_after IS NULL FROM cooldowns ORDER BY id")
    assert (ended[0][0], ended[0][2]) == (outcome, not repairs)
    assert str(ended[0][1]).startswith(words)
    assert [each[0] for each in ended] == [outcome, "refused" if repairs else outcome]
    checked = home.rows("SELECT ok FROM checks WHERE name = 'http' AND session_id = 1 ORDER BY id")
    assert checked == [(0,), (int(repairs),)]


def test_action_of_the_probe_is_settled_by_its_measurement(
    home: Home, site: Site, config_test: Path
) -> None:
    site.declare(home, config_test, site.restart(TOUCH, "restarted"), "  wait: 1s")
    (site.path / "down").touch()

    home.run("run", "--tier", "3")
    assert [outcome for outcome, _ in outcomes(home)] == ["failure"]
    site.declare(home, config_test, site.restart(UNLINK, "down"), "  wait: 1s")
    home.run("run", "--tier", "3")

    rows = home.rows("SELECT outcome, healthy_after IS NULL FROM cooldowns ORDER BY id")
    assert rows == [("failure", True), ("success", False)]


def test_recovered_service_is_not_restarted_and_keeps_its_slot(
    home: Home, site: Site, config_test: Path
) -> None:
    site.declare(home, config_test, site.restart(TOUCH, "restarted"))
    home.env["LAMPLIGHTER_ENGINE"] = "exec"
    home.env["LAMPLIGHTER_EXEC_COMMAND"] = shlex.join([sys.executable, str(ASKS), "web"])

    home.run("run", "--tier", "3")

    assert outcomes(home) == [("unneeded", "healthy again before the action ran")]
    assert not (site.path / "restarted").exists()
    [event] = home.rows("SELECT level, text FROM events WHERE service = 'web'")
    assert event == ("info", "Restart not needed: healthy again before the action ran.")


def test_person_is_notified_once_and_a_new_failure_is_still_repaired(
    home: Home, site: Site, config_test: Path
) -> None:
    site.declare(home, config_test, site.restart(UNLINK, "down"))
    (site.path / "bad").touch()
    home.env["LAMPLIGHTER_INTERVAL"] = "1s"
    home.start("supervisor")
    home.until(lambda: people(home), 60)
    rounds = "SELECT count(*) FROM sessions WHERE tier = 1 AND status != 'running'"
    before = int(str(home.value(rounds)))
    home.until(lambda: int(str(home.value(rounds))) > before + 2, 60)
    alarms = "SELECT count(*) FROM events WHERE text LIKE 'Needs a person%'"
    assert home.value(alarms) == 1

    (site.path / "down").touch()

    ran = "SELECT count(*) FROM cooldowns WHERE outcome = 'success'"
    home.until(lambda: home.value(ran) == 1, 60)
    assert not (site.path / "down").exists()


def test_flapping_service_is_escalated_to_a_person(
    home: Home, site: Site, config_test: Path
) -> None:
    site.declare(home, config_test, site.restart(UNLINK, "down"))
    home.env["LAMPLIGHTER_FLAP_LIMIT"] = "2"

    for _ in range(2):
        (site.path / "down").touch()
        home.run("run", "--tier", "3")

    assert [outcome for outcome, _ in outcomes(home)] == ["success", "refused"]
    [(service, reason)] = people(home)
    assert service == "web"
    assert str(reason).startswith("http failed 2 times in 24 h although each repair worked; now: ")
    assert (site.path / "down").exists()

    home.env["LAMPLIGHTER_FLAP_LIMIT"] = "0"
    home.run("run", "--tier", "3")
    assert not (site.path / "down").exists()


def test_recovery_notification_is_sent_once_per_incident(
    home: Home, site: Site, config_test: Path
) -> None:
    home.env["LAMPLIGHTER_NOTIFY"] = "json://127.0.0.1:9"
    site.declare(home, config_test, site.restart(UNLINK, "down"))
    told = "SELECT level, title FROM notices ORDER BY id"

    home.run("run", "--tier", "1")
    assert home.rows(told) == []
    assert home.rows("SELECT text FROM events WHERE service = 'web'") == []

    for times in (1, 2):
        (site.path / "down").touch()
        home.run("run", "--tier", "1")

        notices = home.rows(told)
        assert [level for level, _ in notices].count("info") == times
        assert notices[-1] == ("info", "web is healthy again after 1 min; repaired by restart")
        alarms = [level for level, _ in notices].count("critical")
        assert alarms >= times

    home.run("run", "--tier", "1")
    assert home.rows(told) == notices


def test_expired_certificate_is_escalated_to_a_person(
    home: Home, tmp_path: Path, expired: ssl.SSLContext
) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.socket = expired.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    (home.path / "services.yaml").write_text(
        "services:\n"
        "  web:\n"
        "    checks:\n"
        f"      - {{tls: '127.0.0.1:{server.server_address[1]}', verify: false, retries: 0}}\n"
        f"      - {{http: 'https://127.0.0.1:{server.server_address[1]}/', retries: 0}}\n"
        "    actions:\n"
        f'      - restart: [{sys.executable}, -c, "{TOUCH}", {tmp_path}/restarted]\n'
    )

    home.run("run", "--tier", "3")

    server.shutdown()
    server.server_close()
    assert not (tmp_path / "restarted").exists()
    [(service, reason)] = people(home)
    assert service == "web"
    assert "certificate expired" in str(reason)


@pytest.fixture
def expired(tmp_path: Path) -> ssl.SSLContext:
    """Return the TLS context of a server with an expired certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "web")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(own)
        .issuer_name(own)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=9))
        .not_valid_after(now - timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    private = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "web.pem").write_bytes(private + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "web.pem")
    return context
