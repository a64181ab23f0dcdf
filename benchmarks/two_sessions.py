"""Two sessions in the real CLI: facts that a user types on Monday, used on Tuesday.

For each fact, one session in which the user types the fact, then another session with a question
about the fact. Only the answers of the model are replaced: the stand-in answers with the fact if
its request contains the fact. Then each captured fact is confirmed with the command, and a third
session has to receive the fact at its start without the label. Questions that match no fact show
how much is included without need. A missing CLI or session is missing data.
"""

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from developer_project import Desk, Done, cli  # of tests/plugin/

from benchmarks.measure import sized
from living import Home, Server
from messages_api import Asked, MessagesApi, Turn, says, uses

UNKNOWN: Final = "I do not know."
LABEL: Final = ", unverified] "
RELATED: Final = "Related memories from Lamplighter"
ALLOWED: Final = ("--allowedTools", "Write")
PROJECT: Final = "lantern"


@dataclass(frozen=True)
class Fact:
    """What a user types in a first session, and a question in a second one."""

    typed: str
    asked: str


FACTS: Final = (
    Fact("No, use pnpm for the web client.", "Install the packages of the web client."),
    Fact("Always run the migrations before the deployment.", "Prepare the deployment."),
    Fact("We decided to keep sessions in Redis.", "Where do we keep the sessions of users?"),
    Fact("Remember that the staging database is called harbor.", "Dump the staging database."),
    Fact("I prefer small commits with one topic.", "Make commits of these changes."),
    Fact("Don't use mocks in the repository tests.", "Write the repository tests for invoices."),
    Fact("We're dropping Python 3.9 in March.", "Which Python versions do we support in March?"),
    Fact("The API listens on port 8085, not 8080.", "Which port does the API listen on?"),
    Fact("Never push to main directly.", "Push the release notes to main."),
    Fact("From now on, name branches after the ticket.", "Name the branches of this ticket."),
    Fact("We use tabs, not spaces.", "Format the file with tabs or with spaces?"),
    Fact("Our backups run at 03:00 UTC, not at midnight.", "When do the backups run?"),
)
HELD: Final = (
    Fact("No, the invoices are rendered with WeasyPrint.", "Change the footer of the invoices."),
    Fact("Never log email addresses.", "Add logging to the signup with the email address."),
    Fact("We decided to drop the GraphQL gateway.", "Add a field to the GraphQL schema."),
    Fact("Remember that the CI runner has two cores.", "Speed up the CI pipeline."),
    Fact("I prefer dataclasses over dictionaries.", "Model the order with a dictionary."),
    Fact("Don't edit generated files by hand.", "Fix the types in the generated client."),
    Fact("We use conventional commits here.", "Commit the fix."),
    Fact("Always ask before you delete a table.", "Remove the unused tables."),
    Fact("Our staging cluster runs in Frankfurt, not in Dublin.", "Is staging in Dublin?"),
    Fact("Actually, the cache expires after 15 minutes.", "Why is the cache stale for so long?"),
    Fact("Stop adding comments to obvious code.", "Add a docstring and comments to the parser."),
    Fact("From now on, write error messages in German.", "Add an error message for a bad date."),
)
"""Written after the rule, and never used to change the rule."""

UNRELATED: Final = (
    "Explain what a monad is.",
    "Translate this sentence into French.",
    "Rename the variable in this function.",
    "Why is the sky blue?",
    "Sort these names by length.",
    "Draw a cat in ASCII.",
    "Add a search box to the header.",
    "Split this class into two.",
    "What does this regular expression match?",
    "Upgrade the linter to the newest version.",
    "The tooltip flickers on hover. Find out why.",
    "Write a shell loop that renames photos by date.",
)


def run() -> dict[str, Any]:
    """Measure all facts in a separate server; a missing CLI is missing data."""
    try:
        cli()
    except AssertionError:
        return {"missing": ["the CLI"]}
    with tempfile.TemporaryDirectory(prefix="lamplighter-") as directory:
        server = Server(Home(Path(directory) / "home"))
        try:
            words = ("token", "create", "--scope", "knowledge:write", "--name", "claude-code")
            token = server.home.ask(*words).stdout.split()[-1]
            most, controls = sized(12, short=2), UNRELATED[: sized(12, short=1)]
            halves = {"built": FACTS[:most], "held": HELD[:most]}
            found = {
                name: measure(
                    server,
                    Desk(Path(directory) / name, server.url, token, name=f"{PROJECT}-{name}"),
                    facts,
                    controls,
                )
                for name, facts in halves.items()
            }
            return {**found, "missing": [one for each in found.values() for one in each["missing"]]}
        finally:
            server.kill()


def measure(
    server: Server, desk: Desk, facts: Sequence[Fact], unrelated: Sequence[str]
) -> dict[str, Any]:
    """Return the numbers of captured, included, used and confirmed facts, and the missing data."""
    desk.configure()
    with MessagesApi() as api:
        api.scenarios["model"] = lambda asked: _answer(asked, facts)
        monday = [desk.asks(each.typed, *ALLOWED, api=api.url("model")) for each in facts]
        captured = _memories(server, desk)
        tuesday = [_ask(desk, api, each.asked) for each in facts]
        controls = [_ask(desk, api, each) for each in unrelated]
        for number in captured.values():
            server.home.ask("memory", "confirm", str(number))
        wednesday = _ask(desk, api, "Hello.")
        elsewhere = Desk(desk.path / "other", server.url, desk.token, name=f"{desk.name}-other")
        elsewhere.configure()
        foreign = _ask(elsewhere, api, facts[0].asked)
    included = [
        f"{LABEL}{fact.typed}" in each.prompt for fact, each in zip(facts, tuesday, strict=True)
    ]
    used = [fact.typed in each.answer for fact, each in zip(facts, tuesday, strict=True)]
    missing = [
        f"{day}: {fact.typed}"
        for day, done in (("Monday", monday), ("Tuesday", [each.done for each in tuesday]))
        for fact, one in zip(facts, done, strict=True)
        if one.status != 0
    ]
    at_start = [fact.typed for fact in facts if fact.typed in wednesday.start]
    return {
        "facts": len(facts),
        "captured": len(captured),
        "included": sum(included),
        "others_included": sum(each.prompt.count("\n- [") for each in tuesday) - sum(included),
        "used": sum(used),
        "not_included": [f.typed for f, yes in zip(facts, included, strict=True) if not yes],
        "digests": sum("### Last sessions" in each.start for each in tuesday),
        "confirmed_at_start": len(at_start),
        "labeled_after_confirmation": sum(f"{LABEL}{f.typed}" in wednesday.start for f in facts),
        "unrelated": len(unrelated),
        "unrelated_with_memories": sum(RELATED in each.prompt for each in controls),
        "other_project": sum(fact.typed in foreign.start + foreign.prompt for fact in facts),
        "tokens_at_start": _tokens(server, desk, "prompts"),
        "tokens_with_prompt": _tokens(server, desk, "retellings"),
        "missing": missing,
    }


@dataclass(frozen=True)
class Received:
    """One session: how it ended, and the hooks' text at its start and with its prompt."""

    done: Done
    start: str
    prompt: str

    @property
    def answer(self) -> str:
        """The model's answer."""
        return self.done.answer if self.done.status == 0 else ""


def _ask(desk: Desk, api: MessagesApi, prompt: str) -> Received:
    before = len(api.requests("model"))
    done = desk.asks(prompt, api=api.url("model"))
    requests = api.requests("model")[before:]
    first = requests[0] if requests else None
    return Received(done, _added(first, "SessionStart"), _added(first, "UserPromptSubmit"))


def _answer(asked: Asked, facts: Sequence[Fact]) -> Turn:
    """Answer with each fact that hooks added; a session with a fact writes a file first."""
    prompt = _texts(asked)[-1] if _texts(asked) else ""
    known = [each.typed for each in facts if each.typed in _added(asked, "UserPromptSubmit")]
    if any(each.typed in prompt for each in facts) and not known and asked.turn == 0:
        return uses("Write", {"file_path": "notes.md", "content": "Noted."})
    return says(" ".join(known) or UNKNOWN)


def _added(asked: Asked | None, event: str) -> str:
    """Return the text that the hooks of an event added to a request."""
    mark = f"{event} hook additional context: "
    return "\n".join(
        text.partition(mark)[2].partition(" hook additional context: ")[0]
        for text in (_texts(asked) if asked else [])
        if mark in text
    )


def _texts(asked: Asked) -> list[str]:
    found = []
    for message in asked.body["messages"]:
        content = message["content"]
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        found += [each["text"] for each in blocks if each.get("type") == "text"]
    return found


def _memories(server: Server, desk: Desk) -> dict[str, int]:
    """Return the memories that users typed in a project, by their text."""
    query = "SELECT observation, id FROM memories WHERE project = ? AND source = 'owner'"
    return {str(text): int(number) for text, number in server.home.rows(query, desk.name)}


def _tokens(server: Server, desk: Desk, table: str) -> float:
    """Return the median tokens that sessions of a project received, of those that received any."""
    query = (
        f"SELECT {table}.tokens FROM {table} JOIN sessions ON sessions.id = {table}.session_id"
        " WHERE sessions.project = ?"
    )
    return median([int(number) for (number,) in server.home.rows(query, desk.name)] or [0])


if __name__ == "__main__":
    print(json.dumps(run(), indent=2))
