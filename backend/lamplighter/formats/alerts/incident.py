"""Which incident a delivery belongs to, whatever the order that deliveries come in."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.formats.alerts.alert import Alert, Held, State


def belongs(alert: Alert, held: Sequence[Held], *, now: datetime) -> Held | None:
    """Return the incident that is held and that an alert tells of; None for a new one.

    `held` are the incidents of its fingerprint. Where the sender names an incident,
    that decides; else the times do: an outage ends at the first end after it, so
    that one which is told of after its end is not taken for another one.
    """
    if alert.incident is not None:
        return next((each for each in held if each.incident == alert.incident), None)
    open_one = next((each for each in held if each.state is State.FIRING), None)
    over = sorted(
        (each for each in held if each.resolved_at is not None),
        key=lambda each: (each.resolved_at, each.id),
    )
    if alert.state is State.FIRING:
        at = alert.at or now
        return next(
            (each for each in over if each.resolved_at and each.resolved_at >= at), open_one
        )
    if alert.at is None:
        return open_one or (over[-1] if over else None)
    known = next((each for each in over if each.resolved_at == alert.at), None)
    return known or open_one


def name_of(alert: Alert, *, now: datetime) -> str:
    """Return what a new incident is known by."""
    return alert.incident if alert.incident is not None else (alert.at or now).isoformat()
