"""The labelled sentences of the graph, and how well the rules extract their relationships."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from lamplighter.domain.graph.extract import TextContext, extract
from lamplighter.domain.graph.names import fold_name

FOLDER: Final = Path(__file__).parents[1] / "tests" / "data" / "graph"
PROJECT: Final = "shop"

Fact = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the relationships that it states, by folded names."""

    text: str
    facts: frozenset[Fact]


@dataclass(frozen=True, slots=True)
class Score:
    """The numbers of correct, wrong and missing relationships."""

    right: int
    wrong: list[tuple[str, Fact]]
    missed: list[tuple[str, Fact]]

    @property
    def precision(self) -> float:
        """The share of the extracted relationships that is correct."""
        return self.right / max(1, self.right + len(self.wrong))

    @property
    def recall(self) -> float:
        """The share of the stated relationships that was extracted."""
        return self.right / max(1, self.right + len(self.missed))


def sentences(half: str) -> list[Sentence]:
    """Return the sentences of a half: `built` (used to write the rules) or `reported`."""
    lines = (FOLDER / f"{half}.tsv").read_text(encoding="utf-8").splitlines()
    return [_sentence(line) for line in lines if line]


def score(half: str) -> Score:
    """Return the score of the rules on a half."""
    right, wrong, missed = 0, [], []
    for each in sentences(half):
        claims = extract(each.text, TextContext(project=PROJECT)).claims
        found = {_fact(claim.source.name, claim.kind, claim.target.name) for claim in claims}
        right += len(found & each.facts)
        wrong += [(each.text, fact) for fact in sorted(found - each.facts)]
        missed += [(each.text, fact) for fact in sorted(each.facts - found)]
    return Score(right, wrong, missed)


def _sentence(line: str) -> Sentence:
    text, _, facts = line.partition("\t")
    stated = [_fact(*part.strip().split("|")) for part in facts.split(";") if part.strip()]
    return Sentence(text, frozenset(stated))


def _fact(source: str, kind: str, target: str) -> Fact:
    return fold_name(source), str(kind), fold_name(target)
