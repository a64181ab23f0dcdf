"""Programs that are not read-only, by effect, for the text of a refusal."""

import re
from typing import Final

_ROOT: Final = "runs commands as another user"
_RUNS: Final = "runs another program"
_SHELL: Final = "is a shell: it can run any command"
_CODE: Final = "runs arbitrary code"
_AWAY: Final = "connects to another machine or sends data there"
_OPENS: Final = "is interactive and can run other programs"
_WRITES: Final = "writes or deletes files"
_STATE: Final = "changes the machine or a service"

FAMILIES: Final = {
    _ROOT: "sudo doas su runuser pkexec gosu setpriv sg newgrp",
    _RUNS: (
        "env nice ionice nohup timeout xargs setsid stdbuf time watch chroot nsenter unshare"
        " systemd-run flock script parallel strace ltrace gdb taskset chrt prlimit firejail bwrap"
        " systemd-inhibit at batch entr run-parts command builtin exec eval source . trap coproc"
        " docker-entrypoint make ninja expect capsh dbus-run-session ld.so"
    ),
    _SHELL: "sh bash dash zsh ksh mksh fish csh tcsh ash busybox toybox rbash pwsh",
    _CODE: (
        "python perl ruby node nodejs php lua awk gawk mawk nawk sed ed ex jq tclsh deno bun"
        " java gcc cc go rustc osascript R julia ghci irb m4 bc dc sqlite3 psql mysql mariadb"
        " mongo mongosh redis-cli"
    ),
    _AWAY: (
        "ssh scp sftp rsync wget ftp telnet socat ncat netcat mail sendmail aria2c http https"
        " rclone smbclient aws gcloud az"
    ),
    _OPENS: "vi vim nvim view nano emacs pico less more most man info htop btop screen tmux pg mc",
    _WRITES: (
        "rm mv cp ln tee dd touch mkdir rmdir chmod chown chgrp chattr truncate install shred split"
        " tar unzip zip gzip gunzip xz bzip2 7z cpio patch mkfs mke2fs fallocate sponge logger"
        " wipefs unlink mktemp mkfifo mknod"
    ),
    _STATE: (
        "kill pkill killall reboot shutdown poweroff halt init telinit service modprobe insmod"
        " rmmod iptables ip6tables nft apt apt-get dpkg yum dnf rpm pip npm snap umount useradd"
        " userdel usermod passwd chpasswd visudo update-rc.d crond helm terraform ansible"
        " ansible-playbook docker-compose virsh qm pct certbot nginx apachectl export alias unalias"
        " set unset ulimit umask cd"
    ),
}
_WHY: Final = {name: why for why, names in FAMILIES.items() for name in names.split()}
_LIMITED: Final = (_WRITES, _STATE)
"""Their effect depends on their arguments; they run no other program."""

_VERSION: Final = re.compile(r"(?:-?[0-9][0-9.]*)$")


def refusal_reason(program: str) -> str:
    """Return the effect of a program; empty for an unknown program."""
    return _WHY.get(program) or _WHY.get(_VERSION.sub("", program), "")


def full_words_reason(program: str) -> str:
    """Return why a pattern must list all arguments of a program; empty if it need not."""
    why = refusal_reason(program)
    return "" if why in _LIMITED else why
