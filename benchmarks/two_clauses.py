"""Write pairs of texts of two clauses by one rule: `python -m benchmarks.two_clauses`.

Each service has two claims, each with a paraphrase, a contradiction and a version under another
condition, and two further facts. The rule builds six pairs per service from these:

* reinforce: both claims paraphrased, in the same order and in the other order;
* contradict: one paraphrased claim with the contradiction of the other, both ways round;
* new: the two further facts, and the first claim under another condition with a further fact.

The conjunction between the clauses changes from pair to pair. No weights are fitted to these pairs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

TARGET: Final = Path(__file__).parent.parent / "tests" / "data" / "relate" / "two_clauses.jsonl"
JOINTS: Final = ("; ", ", and ", ", but ", ", while ", " - ")


@dataclass(frozen=True)
class Claim:
    """One claim: the stored text, a paraphrase, a contradiction, and another condition."""

    text: str
    again: str
    conflict: str
    elsewhere: str = ""


@dataclass(frozen=True)
class Facts:
    """The claims about a service, and its further facts."""

    service: str
    category: str
    one: Claim
    two: Claim
    more: tuple[str, str]


FACTS: Final = (
    Facts(
        "mailrelay",
        "behavior",
        Claim(
            "when the uplink drops, queued mail stays on disk",
            "outgoing messages are kept in the spool while the uplink is away",
            "when the uplink drops, queued mail is thrown away",
            "during an upgrade the queued mail is moved to the second relay",
        ),
        Claim(
            "the queue is delivered within five minutes of its return",
            "delivery catches up in about 300 seconds once the line is back",
            "it takes an hour until the queue is delivered after the line is back",
        ),
        ("greylisting applies to new senders", "DKIM keys are rotated by the operator"),
    ),
    Facts(
        "photos",
        "remediation",
        Claim(
            "a restart of the indexer brings missing thumbnails back",
            "missing thumbnails appear again after the indexer is restarted",
            "restarting the indexer leaves the thumbnails missing",
            "a restart of the indexer after a version change empties the face list",
        ),
        Claim(
            "nothing has to be done by hand",
            "no manual step is needed",
            "the cache must then be rebuilt by hand",
        ),
        ("uploads from phones arrive over WebDAV", "originals are stored read-only"),
    ),
    Facts(
        "broker",
        "timing",
        Claim(
            "the election takes 20 seconds after a node is lost",
            "a new leader is chosen some 20 s after a node dies",
            "the election takes four minutes after a node is lost",
            "the election takes two minutes after a change of the network",
        ),
        Claim(
            "clients reconnect by themselves",
            "the clients come back without help",
            "clients have to be restarted to reconnect",
        ),
        ("the topic audit has twelve partitions", "metrics are exported on port 9308"),
    ),
    Facts(
        "backup",
        "dependency",
        Claim(
            "needs the archive share mounted before it starts",
            "cannot start until the archive share is mounted",
            "starts without the archive share",
            "needs the tape library online for the monthly copy",
        ),
        Claim(
            "a missing share makes it fail loudly",
            "it exits with an error if the share is missing",
            "a missing share is ignored silently",
        ),
        ("old snapshots are pruned on Sundays", "its passphrase is held by the vault"),
    ),
    Facts(
        "wiki",
        "configuration",
        Claim(
            "the search index lives on the SSD",
            "its index for search is stored on the SSD",
            "the search index lives on the NAS",
            "in the staging copy the search index is built in memory",
        ),
        Claim(
            "sessions expire after 8 hours",
            "a login is valid for eight hours",
            "sessions expire after 30 minutes",
        ),
        ("attachments are limited to 25 MB", "drafts are visible to editors"),
    ),
    Facts(
        "proxy",
        "behavior",
        Claim(
            "answers 503 while the backend starts",
            "status 503 is returned as long as the backend is starting",
            "answers 200 with an empty page while the backend starts",
            "answers 429 when a client sends too many requests",
        ),
        Claim(
            "retries are safe because requests are idempotent",
            "it is safe to try again, requests are idempotent",
            "retries are dangerous because orders are then placed twice",
        ),
        ("access logs are shipped to the collector", "HTTP/3 is offered on UDP 443"),
    ),
    Facts(
        "registry",
        "remediation",
        Claim(
            "garbage collection frees space on the data disk",
            "space on the data disk comes back through garbage collection",
            "garbage collection frees no space on the data disk",
            "garbage collection during a push removes layers in use",
        ),
        Claim(
            "it must run with the registry read-only",
            "put the registry into read-only mode for it",
            "it can run while the registry takes pushes",
        ),
        ("tags are signed by the build server", "mirrors sync at noon"),
    ),
    Facts(
        "thermostat",
        "behavior",
        Claim(
            "keeps the last setpoint when the gateway is offline",
            "without the gateway it holds the setpoint it had",
            "forgets the setpoint when the gateway is offline",
            "raises the setpoint by two degrees when a window was opened",
        ),
        Claim(
            "reports every 10 minutes",
            "sends a report six times an hour",
            "reports once a day",
        ),
        ("batteries last two winters", "the display locks with a long press"),
    ),
    Facts(
        "ledger",
        "dependency",
        Claim(
            "the write path depends on the primary database",
            "nothing can be written without the primary database",
            "writes go on without the primary database",
            "the report job depends on the warehouse",
        ),
        Claim(
            "reads are served from the replica",
            "the replica answers the reads",
            "reads are refused as well",
        ),
        ("exports are encrypted with the auditor's key", "amounts are kept in cents"),
    ),
    Facts(
        "cdn",
        "timing",
        Claim(
            "a purge reaches all edges in 30 seconds",
            "after half a minute every edge has taken the purge",
            "a purge needs ten minutes to reach the edges",
            "a purge of a whole zone is queued overnight",
        ),
        Claim(
            "stale pages are served meanwhile",
            "until then visitors see old pages",
            "visitors get errors meanwhile",
        ),
        ("images are resized at the edge", "the origin shield is in Frankfurt"),
    ),
    Facts(
        "scheduler",
        "behavior",
        Claim(
            "a job that overlaps its predecessor is skipped",
            "it skips a run whose predecessor has not ended",
            "overlapping jobs run in parallel",
            "a job that was paused by an admin is run once at resume",
        ),
        Claim(
            "the skip is written to the log",
            "the log has a line for each skipped run",
            "no line in the log tells of it",
        ),
        ("times are given in UTC", "workers are leased for an hour"),
    ),
    Facts(
        "camera",
        "remediation",
        Claim(
            "power cycling the PoE port revives a frozen stream",
            "a frozen stream runs again after the PoE port was switched off and on",
            "power cycling the PoE port does nothing for a frozen stream",
            "power cycling the PoE port in frost leaves the heater off",
        ),
        Claim(
            "the camera is back in under two minutes",
            "within 2 min the picture returns",
            "the camera needs a quarter of an hour to return",
        ),
        ("motion zones are drawn in the app", "clips are kept for a week"),
    ),
    Facts(
        "sso",
        "dependency",
        Claim(
            "logins stop when the directory is unreachable",
            "nobody can sign in with the directory down",
            "logins keep working when the directory is unreachable",
            "logins of guests are approved by the front desk",
        ),
        Claim(
            "open sessions survive",
            "those who are logged in already stay logged in",
            "open sessions are ended as well",
        ),
        ("group names are mapped to roles", "its certificate is renewed in May"),
    ),
    Facts(
        "pipeline",
        "configuration",
        Claim(
            "the primary runner is builder-2",
            "builds run on builder-2 by default",
            "the primary runner is builder-5",
            "release builds run on the signed host",
        ),
        Claim(
            "artifacts are uploaded as zstd archives",
            "its artifacts are zstd archives",
            "artifacts are uploaded as plain tar files",
        ),
        ("forks get no secrets", "the cache is shared by branches"),
    ),
    Facts(
        "ups",
        "timing",
        Claim(
            "the battery lasts 25 minutes at the usual load",
            "at normal load it holds for about 25 min",
            "at the usual load the battery is empty after 6 minutes",
            "the battery lasts an hour with the lab switched off",
        ),
        Claim(
            "hosts are shut down in order before it ends",
            "the machines go down cleanly before the battery is empty",
            "hosts lose power without a clean shutdown",
        ),
        ("the self-test runs on the first Monday", "its alarm can be muted at the panel"),
    ),
    Facts(
        "sensor",
        "behavior",
        Claim(
            "readings above 90 % humidity are false after rain",
            "after rain do not trust humidity over 90 %",
            "readings above 90 % humidity are true after rain",
            "readings stop when the mast is serviced",
        ),
        Claim(
            "no action is needed, it dries on its own",
            "it dries by itself, leave it alone",
            "it has to be opened and dried by hand",
        ),
        ("firmware comes over LoRa", "its position is entered once"),
    ),
)


def pairs() -> Iterator[dict[str, Any]]:
    """Return the pairs that the rule builds."""
    number = 0
    for facts in FACTS:
        one, two, (more, other) = facts.one, facts.two, facts.more
        made = (
            ("reinforce", one.again, two.again),
            ("reinforce", two.again, one.again),
            ("contradict", one.again, two.conflict),
            ("contradict", one.conflict, two.again),
            ("new", more, other),
            ("new", one.elsewhere, other),
        )
        for label, first, second in made:
            number += 1
            yield {
                "id": f"t{number:04}",
                "category": facts.category,
                "service": facts.service,
                "old": _joined(one.text, two.text, number),
                "new": _joined(first, second, number + 2),
                "label": label,
                "kind": "two_clauses",
            }


def _joined(one: str, two: str, number: int) -> str:
    text = f"{one}{JOINTS[number % len(JOINTS)]}{two}"
    return text[0].upper() + text[1:]


def main() -> None:
    """Write the pairs."""
    lines = (json.dumps(each, ensure_ascii=False) for each in pairs())
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
