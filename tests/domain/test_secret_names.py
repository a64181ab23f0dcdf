"""Secrets are found by their names in every form of text; other text stays."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lamplighter.domain.secrets.names import secret_kind
from lamplighter.domain.secrets.redact import Redactor, build_redactor
from secret_examples import NAMED_LINES

OPEN = Redactor()
VALUE = "sw0rd" + "Fish-77"
NAMES = [
    "POSTGRES_PASSWORD",
    "MYSQL_ROOT_PASSWORD",
    "GF_SECURITY_ADMIN_PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    "REDIS_PASS",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "JWT_SECRET",
    "SECRET_KEY_BASE",
    "APP_KEY",
    "GITHUB_TOKEN",
    "OPENAI_API_KEY",
    "DB_PASSWORD_1",
    "VAULT_SECRET_ID",
    "ENCRYPTION_KEY",
    "SMTP_CREDENTIALS",
    "password",
    "db_password",
    "db-password",
    "spring.datasource.password",
    "dbPassword",
    "smtp_pass",
    "passphrase",
    "token",
    "authToken",
    "access_token",
    "X-Api-Key",
    "X-Auth-Token",
    "PRIVATE-TOKEN",
    "apiKey",
    "api_key",
    "api-key",
    "client_secret",
    "clientSecret",
    "secretKey",
    "privateKey",
    "PresharedKey",
    "client-key-data",
    "requirepass",
    "psk",
    "X-Gotify-Key",
]
HARMLESS_NAMES = [
    "POSTGRES_PASSWORD_FILE",
    "token_count",
    "max_token_count",
    "secretName",
    "secretKeyRef",
    "token_type",
    "tokenizer",
    "TOKENIZER",
    "password_policy",
    "token_expires_in",
    "PASSWORD_STORE_DIR",
    "access_key_id",
    "public_key",
    "primary_key",
    "bypass",
    "compass",
    "PASSAGE",
    "monkey",
    "keyboard",
    "credential_helper",
    "passwordChanged",
    "SSH_AUTH_SOCK",
    "HOME",
    "PATH",
    "secretary",
    "api_keys_count",
    "AWS_SHARED_CREDENTIALS_FILE",
]
FORMS = [
    "{name}={value}",
    "export {name}='{value}'",
    '{name}="{value}"',
    "{name}: {value}",
    "{name} = {value}",
    "  - {name}={value}",
    '{{"{name}": "{value}", "port": 1}}',
    '{{"{name}":"{value}"}}',
    "--set {name}={value} --wait",
    "<{name}>{value}</{name}>",
    "- name: {name}\n  value: {value}",
    '{{"name": "{name}", "value": "{value}"}}',
    '<add key="{name}" value="{value}"/>',
    "https://example.org/?{name}={value}&page=2",
    'Env:["{name}={value}","PATH=/bin"]',
]
OTHERS = [
    "mysqldump --password {value} --all-databases",
    "tool --db-password={value} start",
    '["tool","--api-key","{value}","start"]',
    "Authorization: Basic {value}",
    "curl -u admin:{value} http://nas/",
    "redis-cli -a {value} ping",
    "sshpass -p {value} ssh nas",
    "mysql -u root -p{value} app",
    "machine nas login admin password {value}",
    "ALTER ROLE app WITH PASSWORD '{value}';",
    "requirepass {value}",
    "define('SECURE_AUTH_SALT',  '{value}');",
    "the password is {value}",
    "the password is: {value}",
    "db_password: |\n  {value}\nhost: nas",
    "password: >-\\n  {value}\\nhost: nas",
    'password = """{value}"""',
    "token = '''{value}'''",
    "<password><![CDATA[{value}]]></password>",
    "<password>\n  {value}\n</password>",
    "https://nas/?x=password%3D{value}%26y",
    "%22api_key%22%3A%22{value}%22",
    "password\\u003d{value}",
    "password&quot;:&quot;{value}&quot;",
    "Cookie: a=1; sessionid={value}0; theme=dark",
    "GET /app;jsessionid={value}0",
    "git clone https://{value}0123456789@github.com/me/app.git",
    "ConvertTo-SecureString '{value}' -AsPlainText",
    "ldapsearch -x -D cn=admin -w {value} -b dc=nas",
    "smbclient -U admin%{value} //nas/share",
    "mongosh -u admin -p {value}",
    "sqlcmd -S nas -U sa -P {value}",
    "ENV DB_PASSWORD {value}",
    "AZURE_DEVOPS_EXT_PAT={value}0123456789",
    '"github_pat": "{value}0123456789"',
    "SNMP_COMMUNITY={value}",
    "rocommunity {value} 10.0.0.0/8",
    "snmpwalk -v2c -c {value} nas",
]
HARMLESS = """\
token: true
search_path: application_and_public
community: Home Assistant
snmpd -c /etc/snmp/snmpd.conf -f
password: ********
tokens: 2000
max_tokens=4096
token_count: 12
password_file: /run/secrets/x
POSTGRES_PASSWORD=/run/secrets/pg
secretName: my-tls
secret: my-tls
PASSWORD=${DB_PASSWORD}
password: {{ vault_password }}
password: null
"password": null,
"token": "",
"secret": false,
the password is wrong
token=
password=""
secret: kubernetes.io/tls
token: expired
error: invalid token: unauthorized
Failed password for root from 10.0.0.1 port 22 ssh2
use --token to log in
--password string   the password
pass: 3, fail: 0
token = get_token()
password = settings.password
Authorization: Bearer $TOKEN
password: !vault |
password: <your-password>
PASSWORD=[REDACTED:DB_PASSWORD]
password_encryption = scram-sha-256
pass: 12/12
description: |
jsessionid=none
https://nas.example.org/a@b
""".splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_a_secret_name_is_recognized_in_the_environment_and_in_text(name: str) -> None:
    assert secret_kind(name)
    assert build_redactor([(name, VALUE)]).secrets[VALUE] == name
    for form in FORMS:
        text = form.format(name=name, value=VALUE)
        masked = OPEN(text)
        assert VALUE not in masked, masked
        before, after = text.split(VALUE)
        assert masked.startswith(before)
        assert masked.endswith(after)
        assert OPEN(masked) == masked


@pytest.mark.parametrize("form", OTHERS)
def test_secrets_in_options_headers_and_commands_are_masked(form: str) -> None:
    before, after = form.split("{value}")
    masked = OPEN(form.format(value=VALUE))

    assert masked.startswith(before + "[REDACTED:")
    assert masked.endswith("]" + after.lstrip("0123456789"))


@pytest.mark.parametrize("name", HARMLESS_NAMES)
def test_a_name_about_a_secret_masks_nothing(name: str) -> None:
    assert build_redactor([(name, VALUE)]) == Redactor({})
    assert OPEN(f"{name}={VALUE}") == f"{name}={VALUE}"


@pytest.mark.parametrize("line", HARMLESS)
def test_a_value_that_is_not_a_secret_is_not_masked(line: str) -> None:
    assert OPEN(line) == line


def test_a_path_in_the_environment_is_not_a_secret() -> None:
    assert build_redactor([("GOOGLE_APPLICATION_CREDENTIALS", "/etc/keys/app.json")]) == Redactor(
        {}
    )


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("value", [VALUE, "two words 1", 'a "quote" 1', "back\\slash1", "ünï-1"])
def test_a_secret_in_nested_json_is_masked_and_the_rest_preserved(depth: int, value: str) -> None:
    inner = json.dumps({"password": value, "next": "stays"})
    text = f"A=1\nDB_PASSWORD={VALUE}\nNEXT=stays\n{inner}\nend stays"
    for _ in range(depth):
        text = json.dumps({"text": text})
    masked = OPEN.masked(text.encode()).decode()
    for _ in range(depth):
        masked = json.loads(masked)["text"]
    env, after = masked.split("NEXT=stays\n")
    assert env == f"A=1\nDB_PASSWORD={'*' * len(VALUE)}\n"
    decoded = json.loads(after.removesuffix("\nend stays"))
    assert set(decoded["password"]) == {"*"}
    assert decoded["next"] == "stays"


@given(st.text(), st.sampled_from(FORMS), st.text(max_size=20))
def test_masking_is_idempotent(around: str, form: str, value: str) -> None:
    masked = OPEN(f"{around} {form.format(name='DB_PASSWORD', value=value)} {around}")

    assert OPEN(masked) == masked


@pytest.mark.parametrize("value", ["12345abc678", "1234.5678-abcd", "0x1f2e3d4c5b"])
def test_a_token_that_starts_like_a_number_is_masked(value: str) -> None:
    assert value not in OPEN(f"session_token: {value} and more")


@pytest.mark.parametrize("text", ['"output_tokens": 512}', "tokens: 5,120", "max_tokens=20000 x"])
def test_counts_of_tokens_are_not_masked(text: str) -> None:
    assert OPEN(text) == text


@pytest.mark.parametrize(("line", "secret"), NAMED_LINES)
def test_a_secret_beside_its_name_is_masked(line: str, secret: str) -> None:
    assert secret not in OPEN(line.format(secret))


@pytest.mark.parametrize(
    "line",
    [
        "**Password:** required",
        "`password`: `$DB_PASSWORD`",
        "| password | varchar(64) | not null |",
        "http://host:8080/users/bob@example.com",
        "ssh://git@github.com:22/me/app.git",
    ],
)
def test_markdown_and_urls_without_a_secret_stay(line: str) -> None:
    assert OPEN(line) == line
