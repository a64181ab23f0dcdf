"""The commands that only look, each with the options that leave it so. What is not here is refused.

Not here, on purpose: what follows or repeats without end, what writes a file, what runs
another program, what reads a list of further files, and what asks another machine than
those of services.yaml.
"""

from collections.abc import Mapping
from typing import Final

from lamplighter.domain.shell.forms import CommandRule, command_rule

_DIGITS: Final = "-0123456789"

# the command line names a descriptor, which is a link in /proc: it is followed
FILES: Final = {
    "ls": command_rule(
        "-1aAlhrRtSdFisnpgGocuUkBQX --all --almost-all --human-readable --recursive --reverse"
        " --full-time --inode --size --directory --numeric-uid-gid --sort=name --time-style=name"
        " --time=name --group-directories-first --si",
        "path+",
        added=("-H",),
    ),
    "cat": command_rule(
        "-AnbsvETet --number --show-all --squeeze-blank --number-nonblank", "path+"
    ),
    "head": command_rule(f"{_DIGITS} -qv -n=lines -c=lines --lines=lines --bytes=lines", "path+"),
    "tail": command_rule(f"{_DIGITS} -qv -n=lines -c=lines --lines=lines --bytes=lines", "path+"),
    "wc": command_rule("-lwcmL --lines --words --bytes --chars --max-line-length", "path+"),
    "grep": command_rule(
        f"{_DIGITS} -EFGinvclLHhowxrsIqa -A=number -B=number -C=number -m=number"
        " --ignore-case --invert-match --count --line-number --recursive --extended-regexp"
        " --fixed-strings --only-matching --word-regexp --line-regexp --no-messages --text"
        " --files-with-matches --files-without-match --with-filename --no-filename"
        " --max-count=number --after-context=number --before-context=number --context=number"
        " --include=text --exclude=text --exclude-dir=text --color?=name",
        "text path+",
    ),
    "find": command_rule(
        "-name=text -iname=text -type=name -maxdepth=number -mindepth=number -mtime=size"
        " -mmin=size -size=size -newermt=moment -user=user -empty -xdev -mount -not -o -a -ls"
        " -print",
        "path+",
        whole=True,
        added=("-H",),
    ),
    "stat": command_rule("-ft -c=text --format=text --file-system --terse", "path+", added=("-L",)),
    "du": command_rule(
        "-sahkmxc -d=number --summarize --human-readable --max-depth=number --total --all"
        " --apparent-size --one-file-system --si",
        "path+",
        added=("-D",),
    ),
    "file": command_rule("-bi --brief --mime --mime-type", "path+", added=("-L",)),
    "readlink": command_rule("-fe --canonicalize", "path+"),
    "realpath": command_rule("-e", "path+"),
    "md5sum": command_rule("", "path+"),
    "sha256sum": command_rule("", "path+"),
    "diff": command_rule(
        "-uqwbiry --unified --brief --ignore-all-space --recursive",
        "path path",
        added=("--no-dereference",),
    ),
}

MACHINE: Final = {
    "df": command_rule(
        "-hHTikalPm --human-readable --print-type --inodes --all --local --total --portability"
        " --output?=columns -t=name -x=name --type=name --exclude-type=name",
        "mount*",
    ),
    "free": command_rule("-hmgkbwtl --human --mega --giga --wide --total --lohi --si"),
    "uptime": command_rule("-ps --pretty --since"),
    "ps": command_rule(
        "-eAafFljHTLwNdyMZ -aux -auxw -auxww -o=fields -O=fields -u=user -U=user -p=columns -C=name"
        " -g=name"
        " --sort=columns --forest --no-headers --no-heading --pid=columns --ppid=columns"
        " --user=user --format=fields --width=number",
        "bsd?",
    ),
    "pgrep": command_rule(
        "-aflxvnoc -u=user -U=user --list-name --list-full --exact --full", "text"
    ),
    "pidof": command_rule("-s", "name+"),
    "pstree": command_rule("-pualnsTg", "number?"),
    "top": command_rule("-bcHiS -n=few -o=order -p=columns -u=user -w=number", needs=("-b", "-n")),
    "vmstat": command_rule("-wandstS", "seconds? few?"),
    "who": command_rule("-abrumHqT"),
    "w": command_rule("-hsfi"),
    "last": command_rule(f"{_DIGITS} -xFwai -n=number", "name*"),
    "id": command_rule("-ugnGr", "name?"),
    "groups": command_rule("", "name*"),
    "whoami": command_rule(),
    "hostname": command_rule(
        "-fiIsdA --fqdn --short --ip-address --all-ip-addresses --long --domain"
    ),
    "hostnamectl": command_rule("--static --pretty --no-pager"),
    "uname": command_rule("-asnrvmpio --all --kernel-name --kernel-release --machine"),
    "arch": command_rule(),
    "nproc": command_rule("--all"),
    "date": command_rule("-uRI -d=moment --utc --date=moment --iso-8601 --rfc-email", "date?"),
    "timedatectl": command_rule("--no-pager"),
    "lscpu": command_rule("-eJ"),
    "lsmod": command_rule(),
    "lspci": command_rule("-vkntmD"),
    "lsusb": command_rule("-tv"),
    "lsblk": command_rule(
        "-fpbJaldntmrSO -o=columns --output=columns --json --fs --list --paths", "device*"
    ),
    "findmnt": command_rule("-labrDAnJ -t=name -o=columns --df --json --list --real", "mount?"),
    "mount": command_rule("-l"),
    "swapon": command_rule("-s --show --summary"),
    "dmesg": command_rule(
        "-Txkurte -l=level --level=level --ctime --kernel --nopager --time-format=name"
    ),
    "sysctl": command_rule("-nae", "sysctl*"),
    "sensors": command_rule("-ujAf"),
    "smartctl": command_rule(
        "-HaAicx -l=name -d=columns --health --all --info --attributes --capabilities --xall",
        "device",
    ),
    "mdadm": command_rule("-D --detail", "device+", needs=("-D|--detail",)),
    "nvidia-smi": command_rule("-Lq -i=columns --query-gpu=columns --format=columns --list-gpus"),
    "crontab": command_rule("-l", needs=("-l",)),
    "lsof": command_rule(
        "-nPlt -i??=port -s?=name -u=user -p=columns -c=name", needs=("-i|-u|-p|-c",)
    ),
}

NETWORK: Final = {
    "ss": command_rule(
        "-tulnpasxw46eimoHOZ0d --tcp --udp --listening --numeric --processes --all --summary"
        " --extended --info --memory --unix --no-header --ipv4 --ipv6",
        "socket*",
    ),
    "netstat": command_rule("-tulnpariseoW"),
    "arp": command_rule("-na"),
    "route": command_rule("-n46"),
    "ping": command_rule(
        "-46nqDOv -c=few -W=seconds -w=seconds -i=seconds -s=offset", "host", needs=("-c",)
    ),
    "tracepath": command_rule("-46nb -m=seconds", "host"),
    "traceroute": command_rule("-46nIT -m=seconds -w=few -q=few", "host"),
    "mtr": command_rule(
        "-46nrwb -c=few --report --no-dns --report-cycles=few", "host", needs=("-r", "-c")
    ),
    "dig": command_rule("-46u -x=host -t=record -q=host -p=number", "question*", added=("-r",)),
    "nslookup": command_rule("", "host host?"),
    "host": command_rule("-aCv46 -t=record -W=seconds", "host host?"),
    "nc": command_rule("-zvnu46 -w=seconds", "known number+", needs=("-z",)),
    "ethtool": command_rule("-iSk", "interface"),
    "curl": command_rule(
        "-sSfiIv46gk -m=seconds -w=curl_format -o=nowhere -X=method -H=accept --silent --fail"
        " --show-error --include --head --insecure --compressed --http1.1 --http2"
        " --max-time=seconds"
        " --connect-timeout=seconds --request=method --output=nowhere --write-out=curl_format"
        " --header=accept --no-progress-meter --get",
        "url",
        # no settings of anybody's, no way through another machine
        added=("-q", "--proto", "=http,https", "--noproxy", "*", "--max-filesize", "10000000"),
    ),
    "pg_isready": command_rule("-q -h=host -p=number -t=seconds -d=name -U=name"),
}

_UNITS: Final = (
    "-alqr --all --full --no-pager --plain --no-legend --quiet --failed -t=columns --type=columns"
    " --state=columns -n=number --lines=number -o=name --output=name -p=columns"
    " --property=columns --value --user --reverse"
)
_LOGS: Final = "-t --timestamps --details -n=lines --tail=lines --since=moment --until=moment"
_INSPECT: Final = "-s -f=text --format=text --size --type=name"
_IP: Final = "-4 -6 -s -br -brief -j -json -d -details -o -oneline -p -c -color"
_HISTORY: Final = (
    f"{_DIGITS} -piwb --oneline --stat --graph --decorate --all --name-only --name-status"
    " --no-merges --merges --first-parent --reverse --follow --patch --no-patch --shortstat"
    " --numstat --no-color --abbrev-commit -n=number --max-count=number --skip=number"
    " --since=moment --until=moment --after=moment --before=moment --author=text --grep=text"
    " --format?=git_format --pretty?=git_format --date=name"
)
_GIT_SAFE: Final = ("--no-ext-diff", "--no-textconv", "--submodule=short")

LEADING_OPTIONS: Final[Mapping[str, CommandRule]] = {
    "git": command_rule("--no-pager -C=path", needs=("-C",)),
    "ip": command_rule(_IP, whole=True),
}
"""The options that may precede the subcommand."""

COMMON_OPTIONS: Final[Mapping[str, CommandRule]] = {
    "kubectl": command_rule(
        "-A --all-namespaces -n=name --namespace=name --context=name --request-timeout=name"
    ),
    "systemctl": command_rule(_UNITS),
}
"""The options allowed before or after that word."""


def _containers(program: str) -> dict[str, CommandRule]:
    """Return what docker shows; podman knows the same words."""
    listed = command_rule(
        "-aqsl -n=number --all --quiet --no-trunc --size --latest -f=filter --filter=filter"
        " --format=text",
    )
    inspected, logs = command_rule(_INSPECT, "image+"), command_rule(_LOGS, "name")
    used = command_rule(
        "-a --all --no-trunc --no-stream --format=text", "name*", needs=("--no-stream",)
    )
    images = command_rule(
        "-aq --all --quiet --no-trunc --digests -f=filter --filter=filter --format=text", "image?"
    )
    found = {
        "ps": listed,
        "logs": logs,
        "inspect": inspected,
        "stats": used,
        "top": command_rule("", "name"),
        "port": command_rule("", "name number?"),
        "diff": command_rule("", "name"),
        "images": images,
        "history": command_rule("-q --no-trunc --format=text", "image"),
        "version": command_rule("--format=text"),
        "info": command_rule("--format=text"),
        "container ls": listed,
        "container list": listed,
        "container ps": listed,
        "container inspect": inspected,
        "container logs": logs,
        "container stats": used,
        "container top": command_rule("", "name"),
        "image ls": images,
        "image inspect": inspected,
        "network ls": command_rule("-q --no-trunc -f=filter --filter=filter --format=text"),
        "network inspect": inspected,
        "volume ls": command_rule("-q -f=filter --filter=filter --format=text"),
        "volume inspect": inspected,
        "system df": command_rule("-v --verbose --format=text"),
        "compose ls": command_rule("-aq --all --quiet --format=name"),
    }
    return {f"{program} {words}": each for words, each in found.items()}


def _addresses() -> dict[str, CommandRule]:
    """Return what ip shows, by each of its names, with and without the word `show`."""
    objects = [
        "a",
        "addr",
        "address",
        "l",
        "link",
        "r",
        "route",
        "n",
        "neigh",
        "neighbour",
        "rule",
        "maddr",
    ]
    shown = command_rule("", "interface*", whole=True)
    plain = {f"ip {each}": command_rule("", whole=True) for each in objects}
    verbs = {f"ip {each} {verb}": shown for each in objects for verb in ("show", "list", "ls")}
    return {**plain, **verbs, "ip route get": command_rule("", "host", whole=True)}


CONTROL: Final = {
    **_containers("docker"),
    **_containers("podman"),
    **_addresses(),
    "getent hosts": command_rule("", "host"),
    "getent ahosts": command_rule("", "host"),
    "getent passwd": command_rule("", "name*"),
    "getent group": command_rule("", "name*"),
    "getent services": command_rule("", "name*"),
    "systemctl": command_rule(),
    "systemctl status": command_rule("", "unit*"),
    "systemctl is-active": command_rule("", "unit+"),
    "systemctl is-enabled": command_rule("", "unit+"),
    "systemctl is-failed": command_rule("", "unit*"),
    "systemctl show": command_rule("", "unit*"),
    "systemctl list-units": command_rule("", "text*"),
    "systemctl list-timers": command_rule("", "text*"),
    "systemctl list-sockets": command_rule("", "text*"),
    "systemctl list-unit-files": command_rule("", "text*"),
    "systemctl list-dependencies": command_rule("", "unit?"),
    "systemctl is-system-running": command_rule(),
    "journalctl": command_rule(
        "-krxeqa -b??=offset -u=unit -n??=number -p=level -o=name -t=name -g=text -S=moment"
        " -U=moment"
        " --unit=unit --user-unit=unit --lines??=number --since=moment --until=moment"
        " --priority=level --output=name --identifier=name --grep=text --boot??=offset --dmesg"
        " --reverse --no-pager --no-hostname --utc --quiet --disk-usage --list-boots --catalog"
        " --output-fields=columns --all --system --user --case-sensitive",
        "match*",
    ),
    "systemd-analyze": command_rule(),
    "systemd-analyze time": command_rule(),
    "systemd-analyze blame": command_rule("--no-pager"),
    "systemd-analyze critical-chain": command_rule("--no-pager", "unit?"),
    "loginctl list-sessions": command_rule("--no-pager --no-legend"),
    "hostnamectl status": command_rule("--no-pager"),
    "timedatectl status": command_rule("--no-pager"),
    "timedatectl show": command_rule("--no-pager -p=name"),
    "resolvectl status": command_rule("--no-pager", "interface*"),
    "resolvectl query": command_rule("-4 -6", "host"),
    "resolvectl statistics": command_rule(),
    "networkctl status": command_rule("--no-pager", "interface*"),
    "networkctl list": command_rule("--no-pager"),
    "kubectl get": command_rule(
        "-L=columns -o=dump --output=dump -l=text --selector=text --field-selector=text"
        " --sort-by=text --show-labels --no-headers --ignore-not-found",
        "resource+",
    ),
    "kubectl describe": command_rule("-l=text --selector=text --show-events", "resource+"),
    "kubectl logs": command_rule(
        "-p -c=name --container=name --tail=offset --since=moment --since-time=moment --previous"
        " --timestamps --all-containers -l=text --selector=text --prefix",
        "resource?",
    ),
    "kubectl top pods": command_rule("--containers -l=text --sort-by=name --no-headers", "name?"),
    "kubectl top pod": command_rule("--containers -l=text --sort-by=name --no-headers", "name?"),
    "kubectl top nodes": command_rule("-l=text --sort-by=name --no-headers", "name?"),
    "kubectl top node": command_rule("-l=text --sort-by=name --no-headers", "name?"),
    "kubectl version": command_rule("--client -o=dump --output=dump"),
    "kubectl cluster-info": command_rule(),
    "kubectl api-resources": command_rule("-o=dump --no-headers"),
    "kubectl config current-context": command_rule(),
    "kubectl config get-contexts": command_rule("--no-headers -o=dump"),
    "git log": command_rule(_HISTORY, "revision*", added=_GIT_SAFE),
    "git show": command_rule(_HISTORY, "revision*", added=_GIT_SAFE),
    "git diff": command_rule(
        "-pwb --stat --shortstat --numstat --name-only --name-status --cached --staged --no-color",
        "revision*",
        added=(*_GIT_SAFE, "--ignore-submodules=all"),
    ),
    "git status": command_rule(
        "-sbu --short --branch --porcelain --long", "", added=("--ignore-submodules=all",)
    ),
    "git branch": command_rule("-avr --all --list --show-current --no-color", ""),
    "git rev-parse": command_rule("--short --abbrev-ref --verify", "revision"),
    "git describe": command_rule("--tags --always --dirty", "revision?"),
    "zpool status": command_rule("-vxLP", "name*"),
    "zpool list": command_rule("-vHp -o=columns", "name*"),
    "zpool iostat": command_rule("-vl", "name*"),
    "zfs list": command_rule("-rHp -o=columns -t=columns -d=number -s=name", "name*"),
    "ufw status": command_rule("", "name?"),
    "fail2ban-client status": command_rule("", "name?"),
}

READ_ONLY_COMMANDS: Final[Mapping[str, CommandRule]] = {**FILES, **MACHINE, **NETWORK, **CONTROL}
"""Each command that only looks, by its words, with the form it has to have."""
