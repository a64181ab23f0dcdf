"""The world of one fault class: nginx -> app -> PostgreSQL, Redis, a name server and others.

Everything is in one directory and listens on 127.0.0.1; `close` leaves nothing behind.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from glob import glob
from pathlib import Path
from typing import Any, Final

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.lab.units import Init, Unit
from living import free_port

HERE: Final = Path(__file__).parent
NAME: Final = "db.lab.example"
PUSH_SECONDS: Final = 3
DISK: Final = "size=4m,nr_inodes=128"
NOBODY: Final = 65534  # PostgreSQL refuses to run as root
BINARIES: Final = ("/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/lib/postgresql/*/bin")
NGINX: Final = """
daemon off; worker_processes 1; pid {dir}/nginx.pid; error_log {dir}/nginx.log;
events {{ worker_connections 64; }}
http {{
  access_log off; client_body_temp_path {dir}/t1; proxy_temp_path {dir}/t2;
  fastcgi_temp_path {dir}/t3; uwsgi_temp_path {dir}/t4; scgi_temp_path {dir}/t5;
  server {{
    listen 127.0.0.1:{http};
    listen 127.0.0.1:{https} ssl;
    ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem;
    location / {{ proxy_pass http://127.0.0.1:{app}; proxy_read_timeout 5s; }}
  }}
}}
"""
PORTS: Final = ("http", "https", "app", "postgres", "redis", "link", "dns", "worker")


def program(name: str) -> str | None:
    """Return the path of a server's program; None if it is not installed."""
    for pattern in BINARIES:
        if found := sorted(glob(f"{pattern}/{name}")):
            return found[-1]
    return None


def can_mount() -> bool:
    """Whether this user may mount a small disk."""
    return os.geteuid() == 0


class World:
    """The running world of a class; `template` is an initialized PostgreSQL directory."""

    def __init__(self, directory: Path, template: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True)
        self.ports = {name: free_port() for name in PORTS}
        self.init = Init(directory)
        self.init.verbs = {"rollback app": self._roll_back, "clean storage": self._clean}
        self.started_with_faketime = False
        self._prepare(template)
        for unit in self._units():
            self.init.units[unit.name] = unit
            unit.start()

    def path(self, name: str) -> Path:
        """Return the path of a file of the world."""
        return self.directory / name

    def write(self, name: str, text: str) -> None:
        """Write a file atomically, to prevent partial reads."""
        new = self.path(f"{name}.new")
        new.write_text(text)
        new.rename(self.path(name))

    def url(self, port: str) -> str:
        """Return the address of an HTTP service."""
        return f"http://127.0.0.1:{self.ports[port]}/"

    def _prepare(self, template: Path) -> None:
        shutil.copytree(template, self.path("pg"), symlinks=True)
        (self.path("disk")).mkdir()
        if can_mount():
            subprocess.run(
                ["mount", "-t", "tmpfs", "-o", DISK, "tmpfs", str(self.path("disk"))], check=True
            )
            for each in (self.path("pg"), *self.path("pg").rglob("*")):
                os.chown(each, NOBODY, -1)
        self.write_config()
        self.write("release", "1")
        self.write("link", "ok")
        self.write_nginx()
        self.write_certificate(timedelta(days=90))

    def write_config(self) -> None:
        """Write the configuration of the app and the worker."""
        config: dict[str, Any] = {
            "port": self.ports["app"],
            "dns": self.ports["dns"],
            "postgres": self.ports["postgres"],
            "redis": self.ports["link"],
            "password": "first-password",
            "name": NAME,
        }
        self.write("app.json", json.dumps(config))

    def write_nginx(self, mistake: str = "") -> None:
        """Write the configuration of nginx."""
        self.write("nginx.conf", NGINX.format(dir=self.directory, **self.ports) + mistake)

    def write_certificate(self, left: timedelta) -> None:
        """Write a certificate of the lab's own authority that is valid for this time."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name(NAME))
            .issuer_name(_name("Lab authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=100))
            .not_valid_after(now + left)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
            .sign(self._authority, hashes.SHA256())
        )
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        self.write("key.pem", private.decode())
        self.write("cert.pem", certificate.public_bytes(serialization.Encoding.PEM).decode())

    @cached_property
    def _authority(self) -> ec.EllipticCurvePrivateKey:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(_name("Lab authority"))
            .issuer_name(_name("Lab authority"))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=200))
            .not_valid_after(now + timedelta(days=3650))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.write("ca.pem", certificate.public_bytes(serialization.Encoding.PEM).decode())
        return key

    def _units(self) -> Iterator[Unit]:
        here, ports = str(self.directory), self.ports
        drop = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"] if os.geteuid() == 0 else []
        limits = ["prlimit", "--as=2500000000", "--nofile=80"]
        programs = HERE / "programs"
        commands: dict[str, list[str]] = {
            "dns": [sys.executable, str(programs / "names.py"), str(ports["dns"]), NAME],
            "postgres": [
                *drop, str(program("postgres")), "-D", f"{here}/pg", "-k", here,
                "-p", str(ports["postgres"]),
                "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off",
                "-c", "shared_buffers=16MB", "-c", "unix_socket_directories=",
            ],
            "redis": [
                str(program("redis-server")), "--port", str(ports["redis"]),
                "--bind", "127.0.0.1", "--save", "", "--dir", here, "--daemonize", "no",
            ],
            "link": [
                sys.executable, str(programs / "link.py"), here,
                str(ports["link"]), str(ports["redis"]),
            ],
            "app": [*limits, sys.executable, str(programs / "app.py"), here],
            "worker": [
                sys.executable, str(programs / "worker.py"), here, str(ports["worker"])
            ],
            "backup": [sys.executable, str(programs / "job.py"), here, str(PUSH_SECONDS)],
            "nginx": [str(program("nginx")), "-p", here, "-c", f"{here}/nginx.conf"],
        }  # fmt: skip
        for name, argv in commands.items():
            stop = signal.SIGINT if name == "postgres" else signal.SIGTERM
            yield Unit(name, tuple(argv), self.path(f"{name}.out"), stop_signal=stop)

    def _roll_back(self) -> bool:
        self.write("release", "1")
        return self.init.restart("app")

    def _clean(self) -> bool:
        for each in self.path("disk").glob("cache-*"):
            each.unlink()
        return True

    def set_password(self, password: str) -> None:
        """Change the app's password in PostgreSQL."""
        import asyncpg

        async def change() -> None:
            connection = await asyncpg.connect(
                host="127.0.0.1",
                port=self.ports["postgres"],
                user="lab",
                password="lab",
                database="postgres",
                ssl=False,
            )
            await connection.execute(f"ALTER ROLE app PASSWORD '{password}'")
            await connection.close()

        asyncio.run(change())

    def close(self) -> None:
        """End all programs and remove the directory."""
        self.init.close()
        if can_mount():
            subprocess.run(["umount", "-l", str(self.path("disk"))], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def services(self, interval: int) -> str:
        """Return the services.yaml of this world: its checks, dependencies and actions."""
        return yaml.safe_dump(
            {
                "commands": [str(program("nginx"))],
                "services": {
                    name: {**declared, "checks": [_timed(c, interval) for c in declared["checks"]]}
                    for name, declared in self._declared().items()
                },
            },
            sort_keys=False,
        )

    def _declared(self) -> dict[str, dict[str, Any]]:
        ports, here = self.ports, str(self.directory)
        nginx = [str(program("nginx")), "-t", "-q", "-p", here, "-c", f"{here}/nginx.conf"]
        tls = f"127.0.0.1:{ports['https']}"
        restart = {name: [self._action("restart", name)] for name in self.init.units}
        roll_back = {**self._action("rollback", "app"), "name": "rollback"}
        roll_back["redeployment"] = roll_back.pop("restart")
        cleaning = {**self._action("clean", "storage"), "name": "clean", "for": ["disk"]}
        backup = {**self._action("restart", "backup"), "for": ["push"]}
        http = {"timeout": 5, "latency": "1500ms"}
        return {
            "nginx": {
                "depends_on": ["app"],
                "checks": [
                    {"http": self.url("http"), **http},
                    {"command": nginx, "name": "config"},
                    {"tls": tls, "server_name": NAME, "ca": f"{here}/ca.pem"},
                ],
                "actions": restart["nginx"],
            },
            "app": {
                "depends_on": ["postgres", "redis", "dns"],
                "checks": [{"http": self.url("app"), **http}],
                "actions": [*restart["app"], roll_back],
            },
            "worker": {
                "depends_on": ["redis"],
                "checks": [{"http": self.url("worker"), "timeout": 3}],
                "actions": restart["worker"],
            },
            "postgres": {
                "checks": [{"postgres": f"127.0.0.1:{ports['postgres']}"}],
                "actions": restart["postgres"],
            },
            "redis": {
                "checks": [{"redis": f"127.0.0.1:{ports['link']}", "latency": "700ms"}],
                "actions": restart["redis"],
            },
            "dns": {
                "checks": [{"dns": NAME, "server": f"127.0.0.1:{ports['dns']}", "record": "A"}],
                "actions": restart["dns"],
            },
            "storage": {"checks": [{"disk": f"{here}/disk"}], "actions": [cleaning]},
            "backup": {
                "checks": [
                    {
                        "push": {"every": PUSH_SECONDS * 4, "grace": PUSH_SECONDS * 2},
                        "name": "nightly",
                    }
                ],
                "actions": [backup],
            },
        }

    def _action(self, verb: str, name: str) -> dict[str, Any]:
        argv = [sys.executable, "-S", str(HERE / "ctl.py"), str(self.init.socket), verb, name]
        return {"restart": argv, "wait": 15}


def _timed(check: dict[str, Any], interval: int) -> dict[str, Any]:
    return check if "push" in check else {**check, "interval": interval, "retries": 1}


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common)])


def initialize_postgres(directory: Path) -> None:
    """Create the PostgreSQL directory that each world copies at its start."""
    programs = Path(str(program("initdb"))).parent
    drop: list[str] = []
    directory.mkdir()
    if os.geteuid() == 0:
        os.chown(directory, NOBODY, -1)
        drop = ["setpriv", f"--reuid={NOBODY}", "--clear-groups"]
    directory.chmod(0o700)
    words = [*drop, str(programs / "initdb"), "-D", str(directory), "-U", "lab", "-A", "password"]
    secret = directory.with_suffix(".secret")
    secret.write_text("lab\n")
    if os.geteuid() == 0:
        os.chown(secret, NOBODY, -1)
    subprocess.run(
        [*words, "--no-sync", f"--pwfile={secret}"], check=True, stdout=subprocess.DEVNULL, cwd="/"
    )
    subprocess.run(
        [*drop, str(programs / "postgres"), "--single", "-D", str(directory), "postgres"],
        input=b"CREATE ROLE app LOGIN PASSWORD 'first-password'\n",
        check=True,
        cwd="/",
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
