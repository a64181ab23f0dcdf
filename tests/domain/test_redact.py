"""Secrets are masked before text is stored; other text stays unchanged."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.secrets.redact import Redactor, build_redactor

OPEN = Redactor()

SECRETS = [
    ("lamp_12_" + "abcDEF123_-xyzabcDEF123_-xyz0123456789abcdefg", "lamplighter-token"),
    ("sk-ant-" + "api03-abcDEF123_-xyz", "anthropic-key"),
    ("sk-" + "abcdefghij0123456789ABCD", "openai-key"),
    ("sk-proj-" + "abcdefghij0123456789_-ABCD", "openai-key"),
    ("AKIA" + "IOSFODNN7EXAMPLE", "aws-key"),
    ("ASIA" + "IOSFODNN7EXAMPLE", "aws-key"),
    ("ghp_" + "abcdefghij0123456789", "github-token"),
    ("gho_" + "abcdefghij0123456789", "github-token"),
    ("ghs_" + "abcdefghij0123456789", "github-token"),
    ("ghu_" + "abcdefghij0123456789", "github-token"),
    ("github_pat_" + "11ABCDEFG0abcdefghij_0123456789", "github-token"),
    ("xoxb-" + "1234567890-abcdefghij", "slack-token"),
    ("xoxp-" + "1234567890-abcdefghij", "slack-token"),
    ("AIza" + "SyA0123456789abcdefghij-0123456789_", "google-key"),
    ("eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_123", "jwt"),
    (
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJ\nabc+/=\n",
        "private-key",
    ),
    ("-----BEGIN PRIVATE KEY-----\\nMIIEvQIBADANBg\\n", "private-key"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", "private-key"),
]
BESIDE = [
    ("Authorization: Bearer ", "abcDEF123456._~+/-==", "bearer"),
    ("postgres://app:", "s3cr3t!", "url-password", "@db:5432/app"),
    ("https://user:", "hunter2", "url-password", "@example.org/x"),
    ("redis://:", "hunter2", "url-password", "@cache:6379"),
    ("password=", "hunter2", "password"),
    ("Password: ", "correct-h0rse", "password"),
    ("the passwd is ", "tr0ub4dor&3", "password"),
    ("pwd=", "abc!", "password"),
]
BENIGN = """\
Takes 60s to start after restart
Must be started after WireGuard
Can be started independently of WireGuard
The password is required after an update
A password prompt appears when the vault is sealed
passwd: no such user
Reset the password in the admin page
Bearer tokens expire after an hour
The bearer of bad news is the disk
http://jellyfin:8096/health answers 200
https://example.org:8443/path?a=1 answers 302
tcp://10.0.0.5:5432 refused
ssh://git@example.org/repo.git is slow
container 3f4c2a1b9d8e exited with 137
commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12 broke it
sha256:b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9 pulled
550e8400-e29b-41d4-a716-446655440000 is the request id
disk sk-hynix-p41 is at 91 % of its life
task-sk-12 waits for the queue
AKIA is how their keys begin
ghp_ is the prefix of a token
xoxb tokens are for bots
eyJ is how a token begins
eyJhbGciOiJIUzI1NiJ9 alone is a header
-----BEGIN CERTIFICATE-----
-----BEGIN PUBLIC KEY-----
restart at 2026-01-01T12:00:00.000000Z worked on attempt 2
healthy after 42.5 s, 3 of 3 checks, 0 retries
postgres replication lag is 12 MB at 10:45
user@example.org gets the alerts
/var/lib/docker/overlay2/abcdef0123456789 is 40 GB
cron runs */15 * * * * as root
[tool] Bash: {"command":"docker ps --format '{{.Names}}'"}
DNS of jellyfin.example.org resolves to fe80::1
exit status 127: lamplighter: command not found
""".splitlines()


@pytest.mark.parametrize(("secret", "name"), SECRETS)
def test_a_key_of_a_known_shape_is_masked(secret: str, name: str) -> None:
    masked = OPEN(f"it printed {secret} and went on")

    assert f"[REDACTED:{name}]" in masked
    assert secret not in masked
    assert masked.startswith("it printed ")


@pytest.mark.parametrize("shape", BESIDE)
def test_a_value_after_a_secret_name_is_masked_and_the_name_preserved(
    shape: tuple[str, ...],
) -> None:
    before, secret, name, after = (*shape, "")[:4]

    assert OPEN(f"{before}{secret}{after}") == f"{before}[REDACTED:{name}]{after}"


def test_the_lists_of_examples_are_long_enough() -> None:
    assert len(SECRETS) + len(BESIDE) >= 15
    assert len(BENIGN) >= 30


@pytest.mark.parametrize("line", BENIGN)
def test_everyday_lines_are_not_masked(line: str) -> None:
    assert OPEN(line) == line
    assert OPEN.masked(line.encode()) == line.encode()


def test_a_configured_secret_is_masked_in_every_encoding() -> None:
    known = build_redactor([("BROWSER_CRED_SONARR_PASS", "p@ssw0rd")])
    encoded = base64.b64encode(b"p@ssw0rd").decode()

    assert known("pass=p%40ssw0rd") == "pass=[REDACTED:BROWSER_CRED_SONARR_PASS:urlencoded]"
    assert known("pass=p@ssw0rd") == "pass=[REDACTED:BROWSER_CRED_SONARR_PASS]"
    assert known(encoded) == "[REDACTED:BROWSER_CRED_SONARR_PASS:base64]"


@pytest.mark.parametrize("secret", ['pa"ss\\word', "pä$$wörd\n1"])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_within_json_is_masked(secret: str, ascii_only: bool) -> None:
    line = json.dumps({"text": f"<{secret}>"}, ensure_ascii=ascii_only)
    known = build_redactor([("DB_PASSWORD", secret)])

    assert json.loads(known(line)) == {"text": "<[REDACTED:DB_PASSWORD:json]>"}
    assert set(json.loads(known.masked(line.encode()))["text"][1:-1]) == {"*"}


def test_a_plain_secret_is_masked_with_its_plain_name() -> None:
    assert build_redactor([("API_KEY", "abcdefgh1")])("abcdefgh1") == "[REDACTED:API_KEY]"


def test_the_longest_secret_is_masked_first() -> None:
    known = build_redactor([("A_TOKEN", "abcdefgh"), ("B_TOKEN", "abcdefghijkl")])

    assert known("abcdefghijkl abcdefgh") == "[REDACTED:B_TOKEN] [REDACTED:A_TOKEN]"
    assert known.masked(b"abcdefghijkl abcdefgh!") == b"************ ********!"


@pytest.mark.parametrize(
    ("name", "value"), [("HOME", "/home/operator"), ("TOKEN", "short"), ("PASSAGE", "abcdefghij")]
)
def test_only_long_values_of_secret_names_are_masked(name: str, value: str) -> None:
    assert build_redactor([(name, value)]) == Redactor({})


def test_a_secret_that_is_not_valid_text_causes_no_error() -> None:
    assert build_redactor([("A_PASS", "caf\udce9-passw")])("nothing of it") == "nothing of it"


@given(st.text(), st.sampled_from([*(secret for secret, _ in SECRETS), "kéy-of-öurs", ""]))
def test_a_masked_line_has_the_same_length_and_is_valid_text(around: str, secret: str) -> None:
    line = f"{around} {secret} {around}".encode("utf-8", "replace")
    known = build_redactor([("OUR_TOKEN", "kéy-of-öurs")])

    masked = known.masked(line)

    assert len(masked) == len(line)
    assert isinstance(masked.decode(), str)
    if secret:
        assert secret.encode() not in masked


@given(st.binary())
def test_any_bytes_are_masked_without_an_exception(line: bytes) -> None:
    assert OPEN.masked(line) == line or b"*" in OPEN.masked(line)


def test_masking_preserves_bytes_that_are_not_text() -> None:
    assert OPEN.masked(b"\xff AKIAIOSFODNN7EXAMPLE \xfe") == b"\xff " + b"*" * 20 + b" \xfe"


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        "eyJaaaaaaaa-" * 40_000,
        "sk-ant-" * 60_000,
        "Bearer " * 60_000,
        "password" + " " * 300_000,
        "password=" * 40_000,
        "a" * 400_000 + "://",
        "http://a:" * 40_000,
        "-----BEGIN " * 40_000,
        "password=hunter2 " * 20_000,
    ],
    ids=["jwt", "sk", "bearer", "spaces", "passwords", "scheme", "url", "pem", "many found"],
)
def test_any_line_is_masked_in_bounded_time(text: str) -> None:
    assert len(OPEN.masked(text.encode())) == len(text)
    assert OPEN(text)
