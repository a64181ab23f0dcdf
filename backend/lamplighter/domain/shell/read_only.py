"""The commands that only look, each with the options that leave it so. What is not here is refused.

Not here, on purpose: what follows or repeats without end, what writes a file, what runs
another program, what reads a list of further files, and what asks another machine than
those of services.yaml.
"""

from collections.abc import Mapping
from typing import Final

from lamplighter.domain.shell.forms import Form, form

_DIGITS: Final = "-0123456789"

# the command line names a descriptor, which is a link in /proc: it is followed
FILES: Final = {
    "ls": form(
        "-1aAlhrRtSdFisnpgGocuUkBQX --all --almost-all --human-readable --recursive --reverse"
        " --full-time --inode --size --directory --numeric-uid-gid --sort=name --time-style=name"
        " --time=name --group-directories-first --si",
        "path+",
        added=("-H",),
    ),
    "cat": form("-AnbsvETet --number --show-all --squeeze-blank --number-nonblank", "path+"),
    "head": form(f"{_DIGITS} -qv -n=lines -c=lines --lines=lines --bytes=lines", "path+"),
    "tail": form(f"{_DIGITS} -qv -n=lines -c=lines --lines=lines --bytes=lines", "path+"),
    "wc": form("-lwcmL --lines --words --bytes --chars --max-line-length", "path+"),
    "grep": form(
        f"{_DIGITS} -EFGinvclLHhowxrsIqa -A=number -B=number -C=number -m=number"
        " --ignore-case --invert-match --count --line-number --recursive --extended-regexp"
        " --fixed-strings --only-matching --word-regexp --line-regexp --no-messages --text"
        " --files-with-matches --files-without-match --with-filename --no-filename"
        " --max-count=number --after-context=number --before-context=number --context=number"
        " --include=text --exclude=text --exclude-dir=text --color?=name",
        "text path+",
    ),
    "find": form(
        "-name=text -iname=text -type=name -maxdepth=number -mindepth=number -mtime=size"
        " -mmin=size -size=size -newermt=moment -user=user -empty -xdev -mount -not -o -a -ls"
        " -print",
        "path+",
        whole=True,
        added=("-H",),
    ),
    "stat": form("-ft -c=text --format=text --file-system --terse", "path+", added=("-L",)),
    "du": form(
        "-sahkmxc -d=number --summarize --human-readable --max-depth=number --total --all"
        " --apparent-size --one-file-system --si",
        "path+",
        added=("-D",),
    ),
    "file": form("-bi --brief --mime --mime-type", "path+", added=("-L",)),
    "readlink": form("-fe --canonicalize", "path+"),
    "realpath": form("-e", "path+"),
    "md5sum": form("", "path+"),
    "sha256sum": form("", "path+"),
    "diff": form(
        "-uqwbiry --unified --brief --ignore-all-space --recursive",
        "path path",
        added=("--no-dereference",),
    ),
}

MACHINE: Final = {
    "df": form(
        "-hHTikalPm --human-readable --print-type --inodes --all --local --total --portability"
        " --output?=columns -t=name -x=name --type=name --exclude-type=name",
        "mount*",
    ),
    "free": form("-hmgkbwtl --human --mega --giga --wide --total --lohi --si"),
    "uptime": form("-ps --pretty --since"),
    "ps": form(
        "-eAafFljHTLwNdyMZ -aux -auxw -auxww -o=fields -O=fields -u=user -U=user -p=columns -C=name"
        " -g=name"
        " --sort=columns --forest --no-headers --no-heading --pid=columns --ppid=columns"
        " --user=user --format=fields --width=number",
        "bsd?",
    ),
    "pgrep": form("-aflxvnoc -u=user -U=user --list-name --list-full --exact --full", "text"),
    "pidof": form("-s", "name+"),
    "pstree": form("-pualnsTg", "number?"),
    "top": form("-bcHiS -n=few -o=order -p=columns -u=user -w=number", needs=("-b", "-n")),
    "vmstat": form("-wandstS", "seconds? few?"),
    "who": form("-abrumHqT"),
    "w": form("-hsfi"),
    "last": form(f"{_DIGITS} -xFwai -n=number", "name*"),
    "id": form("-ugnGr", "name?"),
    "groups": form("", "name*"),
    "whoami": form(),
    "hostname": form("-fiIsdA --fqdn --short --ip-address --all-ip-addresses --long --domain"),
    "hostnamectl": form("--static --pretty --no-pager"),
    "uname": form("-asnrvmpio --all --kernel-name --kernel-release --machine"),
    "arch": form(),
    "nproc": form("--all"),
    "date": form("-uRI -d=moment --utc --date=moment --iso-8601 --rfc-email", "date?"),
    "timedatectl": form("--no-pager"),
    "lscpu": form("-eJ"),
    "lsmod": form(),
    "lspci": form("-vkntmD"),
    "lsusb": form("-tv"),
    "lsblk": form(
        "-fpbJaldntmrSO -o=columns --output=columns --json --fs --list --paths", "device*"
    ),
    "findmnt": form("-labrDAnJ -t=name -o=columns --df --json --list --real", "mount?"),
    "mount": form("-l"),
    "swapon": form("-s --show --summary"),
    "dmesg": form("-Txkurte -l=level --level=level --ctime --kernel --nopager --time-format=name"),
    "sysctl": form("-nae", "sysctl*"),
    "sensors": form("-ujAf"),
    "smartctl": form(
        "-HaAicx -l=name -d=columns --health --all --info --attributes --capabilities --xall",
        "device",
    ),
    "mdadm": form("-D --detail", "device+", needs=("-D|--detail",)),
    "nvidia-smi": form("-Lq -i=columns --query-gpu=columns --format=columns --list-gpus"),
    "crontab": form("-l", needs=("-l",)),
    "lsof": form("-nPlt -i??=port -s?=name -u=user -p=columns -c=name", needs=("-i|-u|-p|-c",)),
}

NETWORK: Final = {
    "ss": form(
        "-tulnpasxw46eimoHOZ0d --tcp --udp --listening --numeric --processes --all --summary"
        " --extended --info --memory --unix --no-header --ipv4 --ipv6",
        "socket*",
    ),
    "netstat": form("-tulnpariseoW"),
    "arp": form("-na"),
    "route": form("-n46"),
    "ping": form(
        "-46nqDOv -c=few -W=seconds -w=seconds -i=seconds -s=offset", "host", needs=("-c",)
    ),
    "tracepath": form("-46nb -m=seconds", "host"),
    "traceroute": form("-46nIT -m=seconds -w=few -q=few", "host"),
    "mtr": form("-46nrwb -c=few --report --no-dns --report-cycles=few", "host", needs=("-r", "-c")),
    "dig": form("-46u -x=host -t=record -q=host -p=number", "question*", added=("-r",)),
    "nslookup": form("", "host host?"),
    "host": form("-aCv46 -t=record -W=seconds", "host host?"),
    "nc": form("-zvnu46 -w=seconds", "known number+", needs=("-z",)),
    "ethtool": form("-iSk", "interface"),
    "curl": form(
        "-sSfiIv46gk -m=seconds -w=curl_format -o=nowhere -X=method -H=accept --silent --fail"
        " --show-error --include --head --insecure --compressed --http1.1 --http2"
        " --max-time=seconds"
        " --connect-timeout=seconds --request=method --output=nowhere --write-out=curl_format"
        " --header=accept --no-progress-meter --get",
        "url",
        # no settings of anybody's, no way through another machine
        added=("-q", "--proto", "=http,https", "--noproxy", "*", "--max-filesize", "10000000"),
    ),
    "pg_isready": form("-q -h=host -p=number -t=seconds -d=name -U=name"),
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

BEFORE: Final[Mapping[str, Form]] = {
    "git": form("--no-pager -C=path", needs=("-C",)),
    "ip": form(_IP, whole=True),
}
"""The options that stand before the word that says what is looked at."""

AROUND: Final[Mapping[str, Form]] = {
    "kubectl": form(
        "-A --all-namespaces -n=name --namespace=name --context=name --request-timeout=name"
    ),
    "systemctl": form(_UNITS),
}
"""The options that stand before that word or after it."""


def _containers(program: str) -> dict[str, Form]:
    """Return what docker shows; podman knows the same words."""
    listed = form(
        "-aqsl -n=number --all --quiet --no-trunc --size --latest -f=filter --filter=filter"
        " --format=text",
    )
    inspected, told = form(_INSPECT, "image+"), form(_LOGS, "name")
    used = form("-a --all --no-trunc --no-stream --format=text", "name*", needs=("--no-stream",))
    images = form(
        "-aq --all --quiet --no-trunc --digests -f=filter --filter=filter --format=text", "image?"
    )
    found = {
        "ps": listed,
        "logs": told,
        "inspect": inspected,
        "stats": used,
        "top": form("", "name"),
        "port": form("", "name number?"),
        "diff": form("", "name"),
        "images": images,
        "history": form("-q --no-trunc --format=text", "image"),
        "version": form("--format=text"),
        "info": form("--format=text"),
        "container ls": listed,
        "container list": listed,
        "container ps": listed,
        "container inspect": inspected,
        "container logs": told,
        "container stats": used,
        "container top": form("", "name"),
        "image ls": images,
        "image inspect": inspected,
        "network ls": form("-q --no-trunc -f=filter --filter=filter --format=text"),
        "network inspect": inspected,
        "volume ls": form("-q -f=filter --filter=filter --format=text"),
        "volume inspect": inspected,
        "system df": form("-v --verbose --format=text"),
        "compose ls": form("-aq --all --quiet --format=name"),
    }
    return {f"{program} {words}": each for words, each in found.items()}


def _addresses() -> dict[str, Form]:
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
    shown = form("", "interface*", whole=True)
    plain = {f"ip {each}": form("", whole=True) for each in objects}
    verbs = {f"ip {each} {verb}": shown for each in objects for verb in ("show", "list", "ls")}
    return {**plain, **verbs, "ip route get": form("", "host", whole=True)}


CONTROL: Final = {
    **_containers("docker"),
    **_containers("podman"),
    **_addresses(),
    "getent hosts": form("", "host"),
    "getent ahosts": form("", "host"),
    "getent passwd": form("", "name*"),
    "getent group": form("", "name*"),
    "getent services": form("", "name*"),
    "systemctl": form(),
    "systemctl status": form("", "unit*"),
    "systemctl is-active": form("", "unit+"),
    "systemctl is-enabled": form("", "unit+"),
    "systemctl is-failed": form("", "unit*"),
    "systemctl show": form("", "unit*"),
    "systemctl list-units": form("", "text*"),
    "systemctl list-timers": form("", "text*"),
    "systemctl list-sockets": form("", "text*"),
    "systemctl list-unit-files": form("", "text*"),
    "systemctl list-dependencies": form("", "unit?"),
    "systemctl is-system-running": form(),
    "journalctl": form(
        "-krxeqa -b??=offset -u=unit -n??=number -p=level -o=name -t=name -g=text -S=moment"
        " -U=moment"
        " --unit=unit --user-unit=unit --lines??=number --since=moment --until=moment"
        " --priority=level --output=name --identifier=name --grep=text --boot??=offset --dmesg"
        " --reverse --no-pager --no-hostname --utc --quiet --disk-usage --list-boots --catalog"
        " --output-fields=columns --all --system --user --case-sensitive",
        "match*",
    ),
    "systemd-analyze": form(),
    "systemd-analyze time": form(),
    "systemd-analyze blame": form("--no-pager"),
    "systemd-analyze critical-chain": form("--no-pager", "unit?"),
    "loginctl list-sessions": form("--no-pager --no-legend"),
    "hostnamectl status": form("--no-pager"),
    "timedatectl status": form("--no-pager"),
    "timedatectl show": form("--no-pager -p=name"),
    "resolvectl status": form("--no-pager", "interface*"),
    "resolvectl query": form("-4 -6", "host"),
    "resolvectl statistics": form(),
    "networkctl status": form("--no-pager", "interface*"),
    "networkctl list": form("--no-pager"),
    "kubectl get": form(
        "-L=columns -o=dump --output=dump -l=text --selector=text --field-selector=text"
        " --sort-by=text --show-labels --no-headers --ignore-not-found",
        "resource+",
    ),
    "kubectl describe": form("-l=text --selector=text --show-events", "resource+"),
    "kubectl logs": form(
        "-p -c=name --container=name --tail=offset --since=moment --since-time=moment --previous"
        " --timestamps --all-containers -l=text --selector=text --prefix",
        "resource?",
    ),
    "kubectl top pods": form("--containers -l=text --sort-by=name --no-headers", "name?"),
    "kubectl top pod": form("--containers -l=text --sort-by=name --no-headers", "name?"),
    "kubectl top nodes": form("-l=text --sort-by=name --no-headers", "name?"),
    "kubectl top node": form("-l=text --sort-by=name --no-headers", "name?"),
    "kubectl version": form("--client -o=dump --output=dump"),
    "kubectl cluster-info": form(),
    "kubectl api-resources": form("-o=dump --no-headers"),
    "kubectl config current-context": form(),
    "kubectl config get-contexts": form("--no-headers -o=dump"),
    "git log": form(_HISTORY, "revision*", added=_GIT_SAFE),
    "git show": form(_HISTORY, "revision*", added=_GIT_SAFE),
    "git diff": form(
        "-pwb --stat --shortstat --numstat --name-only --name-status --cached --staged --no-color",
        "revision*",
        added=(*_GIT_SAFE, "--ignore-submodules=all"),
    ),
    "git status": form(
        "-sbu --short --branch --porcelain --long", "", added=("--ignore-submodules=all",)
    ),
    "git branch": form("-avr --all --list --show-current --no-color", ""),
    "git rev-parse": form("--short --abbrev-ref --verify", "revision"),
    "git describe": form("--tags --always --dirty", "revision?"),
    "zpool status": form("-vxLP", "name*"),
    "zpool list": form("-vHp -o=columns", "name*"),
    "zpool iostat": form("-vl", "name*"),
    "zfs list": form("-rHp -o=columns -t=columns -d=number -s=name", "name*"),
    "ufw status": form("", "name?"),
    "fail2ban-client status": form("", "name?"),
}

LOOKS: Final[Mapping[str, Form]] = {**FILES, **MACHINE, **NETWORK, **CONTROL}
"""Each command that only looks, by its words, with the form it has to have."""
