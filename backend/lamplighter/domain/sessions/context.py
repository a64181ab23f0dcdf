"""The prompt of a session: the memories it includes, within a token budget, and its environment."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from difflib import unified_diff
from functools import lru_cache
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Final

from lamplighter.domain.limits import MAX_TIER
from lamplighter.domain.memory.memory import GENERAL, Memory, Trust
from lamplighter.domain.services.cooldown import CooldownStatus, describe_slots
from lamplighter.domain.services.service import (
    NO_ANSWER,
    Action,
    ApprovalPolicy,
    Service,
    normalize_service_name,
)
from lamplighter.domain.sessions.session import TIERS, SessionPlan
from lamplighter.domain.text import escape_markers, one_line

if TYPE_CHECKING:
    from lamplighter.domain.sessions.handoff import Handoff

CHARS_PER_TOKEN: Final = 4
_LEAST_AROUND: Final = len("- [timing]  (confidence: 0.3)\n")

HEADER: Final = "## Operational Memory ("
BULLET: Final = "- ["
DOUBT: Final = ", unverified"

FITS: Final = "within the budget"
TOO_LONG: Final = "longer than the rest of the budget"
TURNED_OFF: Final = "memories are off: the budget is 0"
NO_ROOM: Final = "the budget is used up"


@dataclass(frozen=True, slots=True)
class Placement:
    """The reason why a memory is included or not; `position` counts from 0 in reading order.

    `rank` counts from 0 by priority, `left` is the budget that remained at that rank.
    """

    memory: Memory
    line: str
    why: str
    position: int | None = None
    rank: int = field(default=0, compare=False)
    left: int = field(default=0, compare=False)

    @property
    def included(self) -> bool:
        """Whether the prompt includes the memory."""
        return self.position is not None


@dataclass(frozen=True, slots=True)
class MemoryBlock:
    """The memory block, byte for byte, with the reason for each included or excluded memory.

    `total` is the number of candidate memories.
    """

    text: str = ""
    tokens: int = 0
    placements: tuple[Placement, ...] = ()
    total: int = field(default=0, compare=False)


def estimate_tokens(text: str) -> int:
    """Estimate a text's tokens: a quarter of its characters, rounded up (SPEC-0015)."""
    return ceil(len(text) / CHARS_PER_TOKEN)


@dataclass(slots=True)
class BlockPacker:
    """Fills a block with memories in the order offered, best first (SPEC-0015, Token Budget).

    `total` is the number of all candidates; the services of the `focus` are printed first. The
    whole block is at most `budget` tokens; a memory that does not fit is skipped. Without memories,
    or with a budget of 0, the block is empty.
    """

    budget: int
    total: int
    focus: Sequence[str] = ()
    _chosen: list[Placement] = field(default_factory=list)
    _left_out: list[Placement] = field(default_factory=list)
    _services: set[str | None] = field(default_factory=set)
    _body: int = 0
    _left: int = field(init=False)
    room: int = field(init=False)
    """The maximum number of characters of an observation that still fits; below 1 none does."""

    def __post_init__(self) -> None:
        self._left = self.budget
        self._measure()

    @property
    def left_out(self) -> int:
        """The number of memories that did not fit."""
        return len(self._left_out)

    def offer(self, memory: Memory) -> None:
        """Add a memory if the block with it stays within the budget."""
        line = render_bullet(memory)
        rank, left = len(self._chosen) + len(self._left_out), self._left
        body = self._with(memory, line)
        if self._fits(body):
            self._body = body
            self._services.add(memory.service)
            self._chosen.append(Placement(memory, line, FITS, rank=rank, left=left))
            self._left = self.budget - _block_tokens(len(self._chosen), self.total, body)
            self._measure()
        else:
            self._left_out.append(Placement(memory, line, self.why_out, rank=rank, left=left))

    def fits(self, memory: Memory) -> bool:
        """Whether the block stays within the budget if a memory is added now."""
        return self._fits(self._with(memory, render_bullet(memory)))

    @property
    def why_out(self) -> str:
        """The reason why a memory that does not fit now is excluded."""
        if self.budget == 0:
            return TURNED_OFF
        return TOO_LONG if self.room > 0 else NO_ROOM

    def block(self) -> MemoryBlock:
        """Render the block of the included memories."""
        if not self._chosen:
            return MemoryBlock(placements=tuple(self._left_out), total=self.total)
        ordered = _group_by_service(
            self._chosen, frozenset(map(normalize_service_name, self.focus))
        )
        text = _render_header(len(ordered), self.total, self._body)
        for service, some in groupby(ordered, key=lambda each: each.memory.service):
            text += "".join((_render_heading(service), *(f"{each.line}\n" for each in some)))
        placed = [replace(each, position=position) for position, each in enumerate(ordered)]
        return MemoryBlock(text, estimate_tokens(text), (*placed, *self._left_out), self.total)

    def _measure(self) -> None:
        header = len(_render_header(len(self._chosen) + 1, self.total, self._body))
        self.room = self.budget * CHARS_PER_TOKEN - header - self._body - _LEAST_AROUND

    def _with(self, memory: Memory, line: str) -> int:
        """Return the number of characters after the header with the line of one more memory."""
        heading = 0 if memory.service in self._services else len(_render_heading(memory.service))
        return self._body + heading + len(line) + 1

    def _fits(self, body: int) -> bool:
        return _block_tokens(len(self._chosen) + 1, self.total, body) <= self.budget


@dataclass(frozen=True, slots=True)
class ServiceLines:
    """Size of a service's lines: their number, and the total length of their texts and categories.

    `doubtful` is the number of unverified ones.
    """

    service: str | None
    count: int
    chars: int
    doubtful: int

    @property
    def most(self) -> int:
        """The maximum number of characters of these lines, with their heading."""
        around = self.count * len(f"{BULLET}]  (confidence: 0.55)\n") + self.doubtful * len(DOUBT)
        return len(_render_heading(self.service)) + self.chars + around


def required_budget(ahead: Sequence[ServiceLines], memory: Memory, total: int) -> int:
    """Return a budget that fits a memory and all memories of higher priority."""
    body = sum(each.most for each in ahead) + len(render_bullet(memory)) + 1
    if memory.service not in {each.service for each in ahead}:
        body += len(_render_heading(memory.service))
    return _block_tokens(sum(each.count for each in ahead) + 1, total, body)


def render_bullet(memory: Memory) -> str:
    """Render one memory for a session: always on one line, never a marker."""
    doubt = DOUBT if memory.trust is Trust.UNVERIFIED else ""
    said = escape_markers(one_line(memory.observation))
    return f"{BULLET}{memory.category}] {said} (confidence: {round(memory.confidence, 2)}{doubt})"


def _group_by_service(chosen: Sequence[Placement], focus: Collection[str]) -> list[Placement]:
    best: dict[str | None, float] = {}
    for each in chosen:
        service = each.memory.service
        best[service] = max(best.get(service, 0.0), each.memory.confidence)

    def group(each: Placement) -> tuple[bool, bool, float, str]:
        service = each.memory.service
        in_focus = service is not None and normalize_service_name(service) in focus
        return not in_focus, service is None, -best[service], service or ""

    return sorted(chosen, key=group)  # stable sort: keeps the priority order within a group


def _render_heading(service: str | None) -> str:
    return f"\n### {service or GENERAL}\n"


def _block_tokens(count: int, total: int, body: int) -> int:
    return ceil((len(_render_header(count, total, body)) + body) / CHARS_PER_TOKEN)


@lru_cache(1_024)
def _render_header(count: int, total: int, body: int) -> str:
    """Return the header whose token count is that of the whole block, header included."""
    many = f"{count:,} memories" if count == total else f"{count:,} of {total:,} memories"
    number = ceil(body / CHARS_PER_TOKEN)
    while True:
        header = f"{HEADER}{many}, ~{number:,} tokens)\n"
        needed = ceil((len(header) + body) / CHARS_PER_TOKEN)
        if needed <= number:
            return header
        number = needed  # a smaller number would be too low


MOST_LINES: Final = 4_000
"""Above this number of lines no context is computed, because that would take minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockDifference:
    """The difference of two blocks: the lines of memories in only one, and a unified diff."""

    against: str
    added: tuple[str, ...]
    removed: tuple[str, ...]
    text: str


def compare_blocks(before: str, after: str, *, against: str) -> BlockDifference:
    """Compare two memory blocks; lines that only moved appear in the text alone."""
    old, new = before.splitlines(), after.splitlines()
    come, gone = _extra_lines(new, old), _extra_lines(old, new)
    if len(old) + len(new) > MOST_LINES:
        lines = [*(f"-{line}" for line in gone), *(f"+{line}" for line in come)]
    else:
        name = f"session {against}" if against.isdecimal() else against
        other = "after" if against == "before" else "what if"
        lines = list(unified_diff(old, new, name, other, lineterm=""))
    return BlockDifference(
        against=against,
        added=tuple(line for line in come if line.startswith(BULLET)),
        removed=tuple(line for line in gone if line.startswith(BULLET)),
        text="".join(f"{line}\n" for line in lines),
    )


def extract_block(injected: str) -> str:
    """Return the memory block of an injected context; no other part looks like one."""
    at = injected.find(f"\n{HEADER}")
    return injected[at + 1 :] if at >= 0 else ""


def _extra_lines(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the lines that occur more often than among the others."""
    left = Counter(others)
    extra: list[str] = []
    for line in lines:
        if left[line]:
            left[line] -= 1
        else:
            extra.append(line)
    return extra


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPrompt:
    """The prompt of a session: the tier's prompt, the injected context, the request's text."""

    system: str
    injected: str
    message: str
    tokens: int
    budget: int


NO_PROMPT: Final = SessionPrompt(system="", injected="", message="", tokens=0, budget=0)
"""The prompt of a client's session, which is not recorded."""

CooldownUsage = Mapping[str, Sequence[CooldownStatus]]


def build_env_context(
    plan: SessionPlan,
    services: Sequence[Service],
    *,
    now: datetime,
    used: CooldownUsage | None = None,
    handoff: "Handoff | None" = None,
) -> str:
    """Describe the environment of a session: time, tier, dry run and the services in scope.

    Each service is listed with its declared actions and the slots that `used` leaves of its
    cooldowns. A handoff follows in a separate section.
    """
    lines = [
        "## Environment",
        "",
        f"- Time: {now:%Y-%m-%d %H:%M} UTC",
        f"- Tier: {plan.tier} of {MAX_TIER} ({TIERS[plan.tier]})",
        f"- Dry run: {'yes, change nothing' if plan.dry_run else 'no'}",
        f"- Services in scope: {len(services)}",
        *(_service_line(service, used or {}, now) for service in services),
    ]
    if handoff is not None:
        lines += _handoff_lines(handoff)
    return "\n".join(lines) + "\n"


def _service_line(service: Service, used: CooldownUsage, now: datetime) -> str:
    checks = ", ".join(f"{check.name} ({check.target})" for check in service.checks) or "no checks"
    after = f"; depends on {', '.join(service.depends_on)}" if service.depends_on else ""
    kinds = {action.kind for action in service.actions}
    names = ", ".join(_action_name(service, action) for action in service.actions)
    limits = (each for each in used.get(service.name, ()) if each.action in kinds)
    actions = "; ".join([names or "none declared", *(describe_slots(x, now=now) for x in limits)])
    return f"  - {service.name}: {one_line(checks)}{after}; actions: {actions}"


def _action_name(service: Service, action: Action) -> str:
    kind = "" if action.name == action.kind else str(action.kind)
    asks = "" if service.approval_of(action) is ApprovalPolicy.NEVER else "needs approval"
    repairs = "" if action.repairs == (NO_ANSWER,) else f"for {' and '.join(action.repairs)}"
    beside = "; ".join(filter(None, (kind, repairs, asks)))
    return f"{action.name} ({beside})" if beside else action.name


def _handoff_lines(handoff: "Handoff") -> Iterator[str]:
    yield from ("", "## Handoff", "")
    yield f"Session {handoff.session_id} (tier {handoff.tier - 1}) escalated:"
    for each in handoff.escalations:
        yield f"- {each.service}: {one_line(each.reason)}"
    for result in handoff.check_results:
        seen = one_line(result.detail) or ("passed" if result.ok else "failed")
        yield f"- check: {result.service}/{result.name} {'ok' if result.ok else 'failing'}: {seen}"
    for found in handoff.findings:
        cause = f", caused by {found.cause}" if found.cause else ""
        yield (
            f"- diagnosis: {found.service} fails at {found.stage}{cause}: {one_line(found.detail)}"
        )
    for event in handoff.changed:
        what = f"{event.change} of {event.service} at {event.created_at:%H:%M} UTC"
        yield f"- change: {what}: {one_line(event.text)}"
    for use in handoff.tried:
        when = f"at {use.created_at:%H:%M} UTC"
        yield f"- action: {use.action} of {use.service} {when}, {use.outcome}: {one_line(use.text)}"
