"""Examples of secrets, assembled at run time, and harmless lines of operations."""

import random
import string
from typing import Final

_RANDOM: Final = random.Random(20_260_101)
_HEX: Final = "0123456789abcdef"
_BOTH: Final = string.ascii_letters + string.digits


def _made(count: int, alphabet: str = _BOTH) -> str:
    return "".join(_RANDOM.choices(alphabet, k=count))


def _hex(count: int) -> str:
    return _made(count, _HEX)


_PREFIXED: Final = {
    "anthropic-key": ("sk-ant-", _made(40)),
    "openai-key": ("sk-proj-", _made(40)),
    "openrouter-key": ("sk-or-v1-", _hex(64)),
    "aws-key": ("AKIA", _made(16, string.ascii_uppercase)),
    "github-token": ("ghp_", _made(36)),
    "gitlab-token": ("glpat-", _made(20)),
    "gitlab-deploy-token": ("gldt-", _made(20)),
    "gitlab-runner-token": ("glrt-", _made(20)),
    "gitlab-trigger-token": ("glptt-", _made(40)),
    "slack-token": ("xoxb-", _made(40)),
    "slack-app-token": ("xapp-1-", _made(40)),
    "telegram-token": ("123456789:AA", _made(33)),
    "google-key": ("AIza", _made(35)),
    "google-oauth-secret": ("GOCSPX-", _made(28)),
    "google-oauth-token": ("ya29.", _made(60)),
    "digitalocean-token": ("dop_v1_", _hex(64)),
    "digitalocean-oauth-token": ("doo_v1_", _hex(64)),
    "npm-token": ("npm_", _made(36)),
    "pypi-token": ("pypi-AgE", _made(60)),
    "rubygems-key": ("rubygems_", _hex(48)),
    "docker-token": ("dckr_pat_", _made(27)),
    "huggingface-token": ("hf_", _made(34)),
    "replicate-token": ("r8_", _made(37)),
    "groq-key": ("gsk_", _made(52)),
    "xai-key": ("xai-", _made(80)),
    "perplexity-key": ("pplx-", _made(48)),
    "nvidia-key": ("nvapi-", _made(64)),
    "stripe-key": ("sk_live_", _made(24)),
    "stripe-webhook-secret": ("whsec_", _made(32)),
    "square-token": ("sq0atp-", _made(22)),
    "razorpay-key": ("rzp_live_", _made(14)),
    "shopify-token": ("shpat_", _hex(32)),
    "shopify-shared-secret": ("shpss_", _hex(32)),
    "sendgrid-key": ("SG.", f"{_made(22)}.{_made(43)}"),
    "brevo-key": ("xkeysib-", _hex(64)),
    "mailgun-key": ("key-", _hex(32)),
    "mailchimp-key": ("", f"{_hex(32)}-us12"),
    "postman-key": ("PMAK-", _hex(59)),
    "twilio-key": ("SK", _hex(32)),
    "tailscale-key": ("tskey-auth-", _made(30)),
    "vault-token": ("hvs.", _made(90)),
    "pulumi-token": ("pul-", _hex(40)),
    "doppler-token": ("dp.pt.", _made(43)),
    "age-key": ("AGE-SECRET-KEY-1", _made(58, string.ascii_uppercase)),
    "grafana-service-token": ("glsa_", _made(41)),
    "grafana-cloud-token": ("glc_", _made(60)),
    "newrelic-user-key": ("NRAK-", _made(27, string.ascii_uppercase)),
    "sentry-token": ("sntrys_", _made(60)),
    "linear-key": ("lin_api_", _made(40)),
    "notion-token": ("ntn_", _made(46)),
    "airtable-token": (f"pat{_made(14)}.", _hex(64)),
    "atlassian-token": ("ATATT3", _made(60)),
    "databricks-token": ("dapi", _hex(32)),
    "planetscale-token": ("pscale_tkn_", _made(43)),
    "supabase-key": ("sbp_", _hex(40)),
    "figma-token": ("figd_", _made(40)),
    "buildkite-token": ("bkua_", _hex(40)),
    "circleci-token": ("CCIPAT_", _made(60)),
    "sonarqube-token": ("sqp_", _hex(40)),
    "openshift-token": ("sha256~", _made(43)),
    "sourcegraph-token": ("sgp_", _hex(40)),
    "posthog-key": ("phx_", _made(43)),
    "jwt": ("eyJ", f"{_made(20)}.eyJ{_made(30)}.{_made(40)}"),
    "docker-swarm-token": ("SWMTKN-1-", f"{_hex(50)}-{_hex(25)}"),
    "ntfy-token": ("tk_", _made(29, string.ascii_lowercase + string.digits)),
    "uptime-kuma-key": ("uk1_", _made(40)),
    "crypt-hash": ("$6$", f"{_made(12)}${_made(60)}"),
    "ldap-hash": ("{SSHA}", _made(32)),
}
_BESIDE: Final = {
    "slack-webhook": ("https://hooks.slack.com/services/", f"T{_made(9)}/B{_made(9)}/{_made(24)}"),
    "discord-webhook": (
        "https://discord.com/api/webhooks/",
        f"{_made(18, string.digits)}/{_made(68)}",
    ),
    "bearer": ("Bearer ", _made(30)),
    "authorization": ("Authorization: Basic ", _made(24)),
    "mysql-option": ("mysql -u root -p", _made(12)),
    "directive": ("bindpw ", _made(14)),
    "php-constant": ("define( 'DB_PASSWORD', '", _made(20), "' );"),
    "sql-password": ("CREATE USER app WITH PASSWORD '", _made(14), "'"),
    "session-cookie": ("Cookie: a=1; sessionid=", _made(32), "; theme=dark"),
    "url-user-token": ("https://", _made(36), "@github.com/me/app.git"),
    "encoded-assignment": ("https://nas/?next=password%3D", _made(14), "%26page"),
    "url-password": ("postgres://app:", _made(12), "@db/app"),
}
EXAMPLES: Final = {kind: ("", prefix + rest, "") for kind, (prefix, rest) in _PREFIXED.items()} | {
    kind: (each[0], each[1], each[2] if len(each) > 2 else "") for kind, each in _BESIDE.items()
}
"""Kind of secret to the text before it, the secret, and the text after it."""

NAMED_LINES: Final = (
    ("POSTGRES_PASSWORD={}", _made(14)),
    ("MYSQL_ROOT_PASSWORD={}", _made(14)),
    ("PGPASSWORD={} psql", _made(14)),
    ("GF_SECURITY_ADMIN_PASSWORD={}", _made(14)),
    ("AWS_SECRET_ACCESS_KEY={}", _made(40)),
    ("JWT_SECRET={}", _made(32)),
    ('"password": "{}"', _made(14)),
    ('"api_key": "{}"', _made(32)),
    ("db_password: {}", _made(14)),
    ("client_secret: {}", _made(32)),
    ("X-Api-Key: {}", _made(32)),
    ("api_token = {}", _made(32)),
    ("client-key-data: {}", _made(80)),
    ("<password>{}</password>", _made(14)),
    ("app --db-password {}", _made(14) + "7"),
    ("root:{}:19700:0:99999:7:::", "$6$" + _made(12) + "$" + _made(60)),
    ("admin:{}", "$apr1$" + _made(8) + "$" + _made(22)),
    ("Admin password: `{}`", _made(14) + "7"),
    ("- **Password:** {}", _made(14) + "7"),
    ("`DB_PASSWORD`: `{}`", _made(14) + "7"),
    ("| API key | `{}` |", _made(14) + "7"),
    ("postgres://app:{}@db/app", "P@" + _made(12)),
    ("smtp://me@example.com:{}@mail.example.com", _made(12)),
)
"""Lines with a secret that the text next to it names, and the secret."""

_TEMPLATES: Final = """\
{day}T{time}Z INFO nginx: {ip} - - "GET /api/v1/items/{big} HTTP/1.1" 200 {big} "-" "Mozilla/5.0"
Nov 23 {time} nas kernel: [{big}.{n}] docker0: port {n}(veth{hex8}) entered forwarding state
{{"level":"warn","ts":{big}.{n},"msg":"slow query","duration_ms":{n},"id":"{hex32}"}}
postgres[{n}]: LOG:  checkpoint complete: wrote {big} buffers ({n}.0%); 0 WAL file(s) added
sshd[{big}]: Failed password for invalid user admin{n} from {ip} port {big} ssh2
sshd[{big}]: Accepted publickey for root from {ip} port {big} ssh2: ED25519 SHA256:{b64}
{hex12}   nginx:1.{n}   "/docker-entrypoint.…"   {n} hours ago   Up {n}h   0.0.0.0:{big}->80/tcp
sha256:{hex64}: Pulling from library/redis
commit {hex40} Merge branch 'main' into feature-{n}
time="{day}T{time}Z" level=info msg="token renewed" ttl={n}m accessor={hex8}
tokens: {big}, max_tokens={big}, token_count: {n}
{{"usage":{{"input_tokens":{big},"output_tokens":{n},"cache_read_input_tokens":{big}}}}}
pam_unix(sudo:auth): authentication failure; logname= uid={n} euid=0 tty=/dev/pts/{n} ruser=a rhost=
MountVolume.SetUp failed for volume "tls-{n}" : secret "my-tls-{n}" not found
secretName: my-tls-{n}
password_file: /run/secrets/db_{n}
POSTGRES_PASSWORD_FILE=/run/secrets/pg_{n}
PASSWORD=${{DB_PASSWORD_{n}}}
error: token expired {n} minutes ago, request {uuid}
http://10.0.0.{n}:8096/health answered 200 in {n} ms
level=error caller=main.go:{n} err="open /etc/ssl/private/key_{n}.pem: permission denied"
UUID={uuid} /mnt/disk{n} ext4 defaults,noatime 0 2
Filesystem /dev/sd{n} {big}G {n}G {n}% /mnt/tank-{n}
systemd[1]: backup-{n}.service: Main process exited, code=exited, status={n}/FAILURE
GET /api/v1/items?page={n}&sort=name&cursor={big} 200
redis: {n} changes in {n} seconds. Saving... background saving started by pid {big}
zpool status: scrub repaired 0B in 0{n}:{n}:12 with 0 errors on {day}
wireguard: peer {n} handshake did not complete after {n} seconds, retrying (try {n})
etag: "{hex32}" last-modified: {day}
grafana: logger=authn.service t={day} level=info msg="Failed to authenticate request" client={n}
kubelet: pod nginx-{hex8}-x{n}z9k restarted {n} times
restic: snapshot {hex8} saved, {big} files, auth: required
secret rotation of namespace prod-{n} finished at {time}
""".splitlines()


def harmless_lines(chance: random.Random, count: int) -> list[str]:
    """Return lines as services, shells and clusters print them, all without a secret."""

    def hexed(length: int) -> str:
        return "".join(chance.choices(_HEX, k=length))

    def line(template: str) -> str:
        return template.format(
            day=f"2026-11-{chance.randint(10, 28)}",
            time=f"{chance.randint(10, 23)}:{chance.randint(10, 59)}:{chance.randint(10, 59)}",
            ip=f"10.{chance.randint(0, 255)}.{chance.randint(0, 255)}.{chance.randint(1, 254)}",
            n=chance.randint(2, 99),
            big=chance.randint(1_000, 999_999),
            uuid=f"{hexed(8)}-{hexed(4)}-4{hexed(3)}-a{hexed(3)}-{hexed(12)}",
            b64="".join(chance.choices(_BOTH + "+/", k=43)),
            **{f"hex{length}": hexed(length) for length in (8, 12, 32, 40, 64)},
        )

    return [line(_TEMPLATES[at % len(_TEMPLATES)]) for at in range(count)]
