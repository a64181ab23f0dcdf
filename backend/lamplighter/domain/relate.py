"""How two observations of one service and category stand to each other."""

from enum import StrEnum

from lamplighter.domain.text import same_words


class Relation(StrEnum):
    """What a new observation says of a held one."""

    SAME = "same"
    CONFLICTING = "conflicting"
    UNRELATED = "unrelated"
    UNSURE = "unsure"


def relate(new: str, held: str) -> Relation:
    """Say whether two observations are the same text, whatever their case, quotes or spacing."""
    return Relation.SAME if same_words(new) == same_words(held) else Relation.UNRELATED
