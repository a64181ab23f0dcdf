"""What a person tells an agent to do otherwise: corrections, preferences and decisions.

Rules of words, no model. They are for everyday prompts: what is only asked, quoted or
pasted is not taken, and a rule that is in doubt stays silent. What they take is raw.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from lamplighter.domain.memory import Category
from lamplighter.domain.text import one_line


class Tone(StrEnum):
    """How somebody tells what is so."""

    CORRECTION = "correction"
    PREFERENCE = "preference"
    DECISION = "decision"
    REMEMBER = "remember"


CATEGORIES: Final = {
    Tone.CORRECTION: Category.LEARNING,
    Tone.PREFERENCE: Category.PREFERENCE,
    Tone.DECISION: Category.DECISION,
    Tone.REMEMBER: Category.LEARNING,
}
MOST: Final = 5
LOOKED_AT_CHARS: Final = 8_000
SENTENCE_CHARS: Final = 400
LEAST_WORDS: Final = 3

_FENCE: Final = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_PASTED: Final = re.compile(
    r"^\s*(?:>|\||\$ |[+@]|- (?=[-+\w]+\()|\d{4}-\d\d-\d\d|\d\d:\d\d|\[\d|at \S+ ?\(|File \"|Traceback|"
    r"(?:ERROR|WARN|INFO|DEBUG|FATAL|error|warning)\b\s*[\[:|-]|[A-Za-z]+Error:|E\s{2,})"
)
_ENDS: Final = re.compile(r"(?<=[.!?])[\"')\]]?\s+(?=[\"'(\[A-Za-z0-9`])|\n+")
_LIST_MARK: Final = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
_LEAD: Final = re.compile(
    r"^(?:(?:ok(?:ay)?|hey|hi|also|and|but|so|please|pls|well|oh|ah|hmm+|right|yes|yeah|sure|great|"
    r"thanks|good|perfect|wait|btw|fyi|one more thing|in general|generally)\b[,:.!]?\s+)+",
    re.IGNORECASE,
)

_ALWAYS_LEADS_NOT: Final = r"(?!mind\b|knew\b|thought\b|said\b|seen\b|saw\b|had\b|been\b|got\b|again\b|\w+ed\b|\w+s\b(?! to\b))"
_RULES: Final = tuple(
    (tone, re.compile(pattern, re.IGNORECASE))
    for tone, pattern in (
        (
            Tone.REMEMBER,
            r"(?:remember|note|keep in mind|bear in mind|don'?t forget|make a note|take note)"
            r"(?::\s*|,?\s+(?:that|to (?:always|never)|we|the fact|this:)\b)",
        ),
        (Tone.REMEMBER, r"for (?:future reference|the record|next time)\b"),
        (
            Tone.DECISION,
            r"(?:(?:we|i)(?:'ve| have)? (?:just )?(?:decided|agreed)(?: to| on| that| against| not)?|"
            r"(?:the )?decision(?: is)?:|decided:|agreed:)\s",
        ),
        (
            Tone.DECISION,
            r"let'?s (?:go with|stick (?:with|to)|settle on|standardi[sz]e on|commit to)\b",
        ),
        (
            Tone.DECISION,
            r"(?:let'?s use|we(?:'ll| will|'re going to| are going to| should)? (?:use|go with|keep|stick (?:to|with))|"
            r"we(?:'re| are) going with)\b.{1,120}\b(?:instead(?: of)?|rather than|for now on|from now on|over)\b",
        ),
        (Tone.DECISION, r"we(?:'re| are) (?:going with|switching (?:\w+ )?to|dropping|moving (?:\w+ )?to)\b"),
        (
            Tone.PREFERENCE,
            r"(?:you (?:should|must|can) )?(?:always|never)\s+" + _ALWAYS_LEADS_NOT + r"[a-z]+",
        ),
        (Tone.PREFERENCE, r"(?:from now on|going forward|in (?:the )?future|as a rule|by default)\b,? "),
        (Tone.PREFERENCE, r"(?:i|we) (?:always|never|usually|generally|strongly|really|much|would)?\s*prefer\b"),
        (Tone.PREFERENCE, r"i(?:'d| would) (?:rather|prefer)\b"),
        (Tone.PREFERENCE, r"(?:i|we) (?:always|never) (?:use|want|write|put|commit|merge|push|run|deploy|do|mock|log|keep|name|add)\b"),
        (Tone.PREFERENCE, r"i (?:don'?t|do not|hate|dislike) (?:like|want|it when|when)\b.{0,80}\b(?:you|code|comments?|tests?|commits?|names?|files?)\b"),
        (Tone.PREFERENCE, r"don'?t (?:ever|you ever)\b"),
        (Tone.PREFERENCE, r"(?:stop|quit|avoid) (?:adding|using|writing|making|doing|putting|creating|saying|asking|committing)\b"),
        (
            Tone.PREFERENCE,
            r"(?:in this (?:project|repo|repository|codebase|team)|here|around here),? we\b",
        ),
        (
            Tone.CORRECTION,
            r"no+(?:pe)?[,.!:;—–-]+\s*(?!(?:problem|worries|thanks|thank|need|idea|rush|hurry|can|could|what|why|how|is|are|does|do you)\b)\S",
        ),
        (Tone.CORRECTION, r"(?:that|this|it)(?:'s| is| was) (?:wrong|incorrect|not (?:right|correct|true|what i|how))\b"),
        (Tone.CORRECTION, r"you(?:'re| are) wrong\b"),
        (Tone.CORRECTION, r"i (?:said|meant|told you|already (?:said|told))\b"),
        (Tone.CORRECTION, r"not [\w./@-]+(?: [\w./@-]+){0,3}[,;—–-]+ ?(?:but |use |it'?s |we )\S"),
        (Tone.CORRECTION, r"(?:we|our \w+|this project|the project|the repo|this repo) (?:uses?|runs?|deploys?|writes?|(?:is|are)) .{1,100}(?:,? (?:and )?not\b|\binstead of\b|\brather than\b)"),
        (Tone.CORRECTION, r"we (?:don'?t|do not|no longer|stopped) (?:use|using|do|have|support|write|run|commit|deploy|mock|need|allow|want|store|log)\b"),
        (Tone.CORRECTION, r"(?:use|it'?s|its|that'?s) [^,;?]{1,60}, not\b"),
        (Tone.CORRECTION, r"don'?t use\b"),
        (Tone.CORRECTION, r"actually,? (?:we|it'?s|the|that'?s|our|this)\b"),
        (Tone.CORRECTION, r"you (?:should(?:n'?t| not)|must(?:n'?t| not)|keep (?:using|adding|forgetting|doing))\b"),
    )
)
_ASKS: Final = re.compile(
    r"(?:can|could|would|will|should|shall|do|does|did|is|are|was|were|what|why|how|when|where|which|who|"
    r"any)\b(?!\s+not\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Said:
    """One sentence that a person corrected, preferred or decided by."""

    tone: Tone
    text: str

    @property
    def category(self) -> Category:
        """What it is about, as a memory."""
        return CATEGORIES[self.tone]


def said(prompt: str) -> list[Said]:
    """Return what a person tells in a prompt to be so, at most five sentences of it."""
    if prompt.lstrip().startswith(("/", "#!", "<")):
        return []
    found: dict[str, Said] = {}
    for sentence in _sentences(prompt[:LOOKED_AT_CHARS]):
        tone = _tone(sentence)
        if tone is not None:
            found.setdefault(sentence.casefold(), Said(tone, sentence))
    return list(islice(found.values(), MOST))


def _sentences(prompt: str) -> Iterator[str]:
    """Yield the sentences of a person's own words; a "No." of its own belongs to the next."""
    prompt = _FENCE.sub("\n", prompt)
    lines = (_LIST_MARK.sub("", line) for line in prompt.splitlines() if not _PASTED.match(line))
    before = ""
    for part in _ENDS.split("\n".join(lines)):
        sentence = one_line(before + part)
        before = ""
        if re.fullmatch(r"no+(?:pe)?[.!,]*", sentence, re.IGNORECASE):
            before = f"{sentence.rstrip('.!,')}, "
        elif sentence and len(sentence) <= SENTENCE_CHARS:
            yield sentence


def _tone(sentence: str) -> Tone | None:
    words = _LEAD.sub("", sentence)
    if sentence.endswith("?") or _ASKS.match(words) or len(sentence.split()) < LEAST_WORDS:
        return None
    return next((tone for tone, rule in _RULES if rule.match(words)), None)
