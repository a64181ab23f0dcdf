#!/bin/sh
# Sends one event to Lamplighter and prints the response. A failure never disturbs the session:
# the hook then prints nothing and exits with status 0.
#
#   hook.sh EVENT        reads the event as JSON from stdin, prints the response as JSON
#
# The server and the token come from the settings of the plugin, otherwise from LAMPLIGHTER_URL
# and LAMPLIGHTER_TOKEN. LAMPLIGHTER_TRANSCRIPTS=1, or the setting, hands over texts of the
# transcript. LAMPLIGHTER_PLUGIN_OFF=1, or a file .lamplighter-off in the project or a parent
# directory, stops the hook before it sends anything.

exec 2>/dev/null
umask 077
event=$1
url=${CLAUDE_PLUGIN_OPTION_SERVER_URL:-${LAMPLIGHTER_URL:-http://127.0.0.1:8080}}
token=${CLAUDE_PLUGIN_OPTION_TOKEN:-$LAMPLIGHTER_TOKEN}
state=${CLAUDE_PLUGIN_DATA:-${TMPDIR:-/tmp}/lamplighter-plugin-$(id -u)}
here=${CLAUDE_PROJECT_DIR:-$PWD}

[ "${LAMPLIGHTER_PLUGIN_OFF:-0}" = 0 ] || exit 0
[ -n "$token" ] || exit 0

# The project is the git root directory; for a worktree, the main repository.
root=''
directory=$here
while :; do
    [ -e "$directory/.lamplighter-off" ] && exit 0
    if [ -z "$root" ] && [ -d "$directory/.git" ]; then
        root=$directory
    elif [ -z "$root" ] && [ -f "$directory/.git" ]; then
        read -r _ root <"$directory/.git"
        case $root in
        /*/.git/worktrees/*) root=${root%/.git/worktrees/*} ;;
        *) root=$directory ;;
        esac
    fi
    case $directory in '' | / | .) break ;; esac
    directory=${directory%/*}
done

mkdir -p "$state" || exit 0
# A directory of another user could contain links to anywhere.
[ -n "${CLAUDE_PLUGIN_DATA:-}" ] || [ -n "$(find "$state" -prune -type d -user "$(id -u)")" ] || exit 0

# For a minute after a timeout, send nothing. For a minute after a slow response, wait for none.
waits=1
case $(find "$state/hangs" "$state/slow" -mmin -1) in
"$state/hangs"*) exit 0 ;;
"$state/slow") waits=0 ;;
esac

# The first member of this name with a string, as JSON; quotes inside of strings are escaped.
member() {
    printf '%s' "$given" | grep -oE "\"$1\": *\"([^\"\\\\]|\\\\.)*\"" | head -n 1
}

listed() {
    [ -s "$state/$1" ] && printf '%s\n' "$tool" | grep -Fqx -f "$state/$1"
}

# The event of a file tool without the text of the file.
path_only() {
    fields=''
    for name in session_id cwd hook_event_name tool_name tool_use_id; do
        field=$(member "$name")
        fields="$fields${field:+$field,}"
    done
    path=$(member file_path)
    [ -n "$path" ] || path=$(member notebook_path)
    printf '{%s"tool_input":{%s}}' "$fields" "$path"
}

case $event in
PostToolUse | PostToolUseFailure)
    [ -s "$state/tools" ] || [ -s "$state/activity" ] || exit 0
    given=$(cat)
    tool=$(member tool_name | cut -d '"' -f 4 | tr '[:upper:]' '[:lower:]')
    listed answers || waits=0
    if listed tools; then
        : # a rule needs the whole event
    elif [ "$event" = PostToolUse ] && listed activity; then
        case $tool in task* | todo*) ;; *) given=$(path_only) ;; esac
    else
        exit 0
    fi
    ;;
*) given=$(cat) ;;
esac

case $event in
SessionStart) seconds=3 waits=1 ;;
UserPromptSubmit | SubagentStart) seconds=3 ;;
SessionEnd) seconds=1 waits=1 ;;
Stop | PreCompact) waits=0 ;;
*) seconds=2 ;;
esac
[ "$waits" = 1 ] || seconds=10

one_line() {
    printf '%s' "$1" | tr -d '\r\n'
}

# The token must not appear in the list of processes, and .curlrc must not redirect it
# (--disable has to come first). The last line is the time that the response took.
post() {
    curl --disable --silent --fail --globoff --max-time "$seconds" \
        --noproxy "127.0.0.1,localhost,::1,${NO_PROXY:-$no_proxy}" --dump-header "$heads" \
        --header 'Content-Type: application/json' --header 'Expect:' --header @/dev/fd/3 \
        --data-binary @- --write-out '\n%{time_total}' \
        "${url%/}/api/v1/hooks/$1" 3<<EOF
Authorization: Bearer $(one_line "$token")
X-Lamplighter-Root: $(one_line "${root:-$here}")
X-Lamplighter-Waits: $waits
EOF
}

# The session does not wait for what runs in the background, and its end does not cut it off. The
# command line starts background processes of its own (`async`) too, but kills them when it ends.
background() {
    heads=$state/heads.$$.$1
    : >"$heads"
    (
        mine=$heads # what this starts has another
        trap '' HUP
        trap 'rm -f "$mine"' EXIT
        "$1"
    ) </dev/null >/dev/null &
}

# What the user and Claude wrote, the last 200 KB of it: no tools, results, thinking or subagents.
transcript() {
    path=$(member transcript_path | cut -d '"' -f 4)
    case $path in *\\*) return ;; *.jsonl) ;; *) return ;; esac
    [ -f "$path" ] || return
    texts=$(
        if [ "$(wc -c <"$path")" -le 2000000 ]; then cat "$path"; else tail -c 2000000 "$path" | sed 1d; fi |
            LC_ALL=C grep -E '^\{.*"type": ?"(user|assistant)".*\}$' |
            LC_ALL=C grep -vE '"type": ?"(tool_use|tool_result|thinking)"|"is(Meta|Sidechain|CompactSummary)": ?true' |
            LC_ALL=C awk 'length($0) < 20000 { line[++n] = $0 }
                END {
                    for (i = n; i > 0 && (size += length(line[i]) + 1) < 200000; i--);
                    for (i++; i <= n; i++) print line[i] (i < n ? "," : "")
                }'
    )
    [ -n "$texts" ] || return
    seconds=10
    printf '{%s,"lines":[%s]}' "$(member session_id)" "$texts" | post Transcript >/dev/null
}

newline='
'

# Sends the event and prints the response if it is one to this event.
send() {
    # Without curl, run the command instead.
    if ! command -v curl >/dev/null; then
        command -v lamplighter >/dev/null && printf '%s' "$given" | lamplighter hook "$event"
        return
    fi
    answer=$(printf '%s' "$given" | post "$event")
    status=$?
    seconds=${answer##*"$newline"}
    answer=${answer%"$newline"*}
    case $event$waits in
    Session* | *0) ;;
    *) [ "${seconds%%[.,]*}" -ge 1 ] && : >"$state/slow" ;;
    esac
    case $status in
    0) ;;
    28) : >"$state/hangs" && return ;;
    *) return ;;
    esac
    grep -q '^HTTP/[0-9.]* 200' "$heads" || return
    if [ "$event" = SessionStart ]; then
        for list in tools activity answers; do
            grep -i "^x-lamplighter-$list:" "$heads" | cut -d : -f 2 | tr -d '\r' |
                tr -s ' ' '\n' | grep . >"$state/$list.$$"
            mv -f "$state/$list.$$" "$state/$list"
        done
    fi
    case $answer in
    '{"hookSpecificOutput":{"hookEventName":"'"$event"'",'*'}}') printf '%s\n' "$answer" ;;
    esac
    case $event-${CLAUDE_PLUGIN_OPTION_TRANSCRIPTS:-${LAMPLIGHTER_TRANSCRIPTS:-0}} in
    Stop-true | Stop-1 | SessionEnd-true | SessionEnd-1) background transcript ;;
    esac
}

# An event without a response is sent in the background.
if [ "$waits" = 1 ]; then
    heads=$state/heads.$$
    trap 'rm -f "$state/heads.$$"' EXIT
    send
else
    background send
fi
exit 0
