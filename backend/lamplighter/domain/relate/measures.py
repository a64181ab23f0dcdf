"""Comparison of measures: equal, or conflicting."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from lamplighter.domain.relate.analysis import Measure

TOLERANCE: Final = 0.15  # relative to the larger value
WEEK: Final = 604_800  # seconds; "each Sunday" means once a week
QUANTITIES: Final = frozenset(
    ["duration", "period", "bytes", "rate", "percent", "celsius", "number"]
)
# kinds that a bare number may take from the other text
_LIKE: Final = frozenset(
    frozenset(pair.split())
    for pair in (
        "number port",
        "number status",
        "number version",
        "number label",
        "label status",
        "port status",
    )
)
# kinds that never match in a schedule, although each is a time
_APART: Final = (
    frozenset(("clock", "period")),
    frozenset(("weekday", "period")),
    frozenset(("weekday", "ordinal")),
)


@dataclass(slots=True)
class MeasureMatch:
    """The matched and unmatched measures of two texts."""

    same: list[tuple[Measure, Measure]] = field(default_factory=list)
    unlike: list[tuple[Measure, Measure]] = field(default_factory=list)
    left: list[Measure] = field(default_factory=list)
    right: list[Measure] = field(default_factory=list)


def match_measures(old: Iterable[Measure], new: Sequence[Measure]) -> MeasureMatch:
    """Match each measure with a comparable one; "302, not 200" conflicts with a plain 200."""
    result = MeasureMatch()
    stated = [each for each in new if not each.denied]
    denied = [each for each in new if each.denied]
    open_: list[Measure] = []
    for measure in old:
        other = _take(stated, measures_agree, measure)
        if other is None and not measure.denied:
            open_.append(measure)
        elif other is not None:
            (result.unlike if measure.denied else result.same).append((measure, other))
    for measure in open_:
        other = _take(stated, comparable, measure) or _take(denied, measures_agree, measure)
        if other is None:
            result.left.append(measure)
        else:
            result.unlike.append((measure, other))
    result.right = stated
    return result


def _take(
    among: list[Measure], fits: Callable[[Measure, Measure], bool], measure: Measure
) -> Measure | None:
    """Remove and return the first measure that fits; None for none."""
    for at, each in enumerate(among):
        if fits(measure, each):
            return among.pop(at)
    return None


def comparable(one: Measure, two: Measure) -> bool:
    """Return whether two measures are of one kind, or of kinds that can be compared.

    A version is no other one than the releases of it: 14 and 14.2.
    """
    if "version" in (one.kind, two.kind) and _is_release(one, two):
        return False
    if one.kind == two.kind:
        return True
    kinds = frozenset((one.kind, two.kind))
    return kinds in _LIKE or kinds in _APART


def _is_release(one: Measure, two: Measure) -> bool:
    short, long = sorted((f"{one.text}.", f"{two.text}."), key=len)
    return long.startswith(short) and not (one.bound or two.bound or one.denied or two.denied)


def measures_agree(one: Measure, two: Measure) -> bool:
    """Whether two measures are equal: quantities within 15 %, all others exactly."""
    kinds = {one.kind, two.kind}
    if kinds == {"weekday", "period"}:
        return max(one.low, two.low) == WEEK and one.high - one.low == two.high - two.low == 0
    if len(kinds) > 1 and frozenset(kinds) not in _LIKE:
        return False
    if one.kind == two.kind == "path":
        return one.text == two.text
    bounded = _within(one, two)
    if bounded is not None:
        return bounded
    if one.kind == two.kind == "weekday":
        return one.low <= two.high and two.low <= one.high
    if one.kind == two.kind and one.kind in QUANTITIES:
        slack = 1 / (1 - TOLERANCE)
        return one.low <= two.high * slack and two.low <= one.high * slack
    return one.low == two.low if one.low or two.low else one.text == two.text


def _within(one: Measure, two: Measure) -> bool | None:
    """Whether two bounds can both be true; None if the bounds do not decide."""
    bounds = {one.bound, two.bound}
    if "min" not in bounds:
        return None
    low, other = (one, two) if one.bound == "min" else (two, one)
    if other.bound in ("max", "below"):
        return _parts(low) < _parts(other)
    if not other.bound and one.kind in ("version", "number"):
        return _parts(other) >= _parts(low)
    return None


def _parts(measure: Measure) -> tuple[float, ...]:
    if measure.kind != "version":
        return (measure.low,)
    digits = ("".join(filter(str.isdecimal, part)) for part in measure.text.split("."))
    return tuple(float(part or 0) for part in digits)
