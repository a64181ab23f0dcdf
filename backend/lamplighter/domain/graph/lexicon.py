"""Words that help to find names: names of tools, nouns that classify a name, common words."""

from typing import Final

from lamplighter.domain.graph.entity import EntityKind
from lamplighter.domain.graph.names import fold_name

_TOOLS: Final = """
ansible apache astro authelia authentik aws azure bun caddy cassandra celery claude clickhouse
cloudflare consul cron debian django docker drone elasticsearch electron envoy esbuild etcd
express fastapi flake8 flask flutter git github gitlab go grafana graphite graphql gulp gunicorn
haproxy helm hugo influxdb isort jaeger java jenkins kafka keycloak kibana kubernetes laravel
ldap litestream loki mariadb matrix meilisearch memcached minio mongodb mosquitto mypy mysql
nats next.js nginx node node.js nomad npm openssl opentofu oracle pgbouncer pip pnpm podman
poetry postfix postgres postgresql prometheus pytest python rabbitmq rails react redis redpanda
ruff rust s3 sentry sftp sidekiq slack snowflake spark sqlalchemy sqlite starlette stripe svelte
sveltekit systemd tailscale temporal tempo tensorflow terraform tika tox traefik typescript
ubuntu unbound uv uvicorn valkey vault vite vue webpack wireguard zookeeper
"""
TOOLS: Final = frozenset(map(fold_name, _TOOLS.split()))

_ORGANIZATIONS: Final = (
    "amazon apple cloudflare facebook github google hashicorp ibm meta microsoft"
)
ORGANIZATIONS: Final = frozenset([*_ORGANIZATIONS.split(), "redhat"])
COMPANY_FORMS: Final = ("ltd", "gmbh", "inc", "llc", "corp", "ag")

_PLATFORMS: Final = """
linux macos windows android ios debian alpine ubuntu safari chrome firefox edge
"""
PLATFORMS: Final = frozenset(_PLATFORMS.split())
"""Platforms of software, which are not projects that a person works on."""

_CLASS_NOUNS: Final = {
    EntityKind.SERVICE: "service api server worker daemon job gateway",
    EntityKind.ORGANIZATION: "team group company department",
    EntityKind.PROJECT: "project app site page repo repository frontend",
    EntityKind.TOOL: "database library framework broker",
}
CLASS_NOUNS: Final = {noun: kind for kind, some in _CLASS_NOUNS.items() for noun in some.split()}
"""Nouns after a name that state its kind: `the checkout service`."""

ALONE: Final = {
    "frontend": EntityKind.PROJECT,
    "backend": EntityKind.PROJECT,
    "website": EntityKind.PROJECT,
}

_NO_NAMES: Final = """
a about after all also an and another any api april ask at august backup backups before both
built but by can cannot check chose ci could cpu current december decided decision depends
deploy deployment did disk do does each either entire every everybody everyone everything
external fails february few first for friday fridays from gpu had has have he help her his how
http https i if in internal ip is it its january july june keep kept last latency later latest
local login main many march may maybe monday mondays more most moved much must my needs never
new next no nobody none note nothing november now october of old on once one only or other our
people perhaps picked port public ram relies remember remote requires restart restarting run
runs same saturday saturdays search second see september she should since so some somebody
someone something sql starts startup still stop such sunday sundays that the their then there
these they third this those thursday thursdays to today tomorrow tuesday tuesdays under unless
until url use used user users uses waits we wednesday wednesdays what when where whether which
while who whole why with without would written yesterday you your
"""
NO_NAMES: Final = frozenset(_NO_NAMES.split())

_GENERIC: Final = """
whole entire current latest internal external public local remote second third same new old
other first last main next only few such each every another many more most own
"""
GENERIC: Final = frozenset(_GENERIC.split())
"""Words that do not form a name with the noun after them: `the whole team`."""
