"""The incident that a delivery belongs to, whatever the order of deliveries."""

from collections.abc import Sequence
from datetime import datetime

from lamplighter.domain.services.alert import Alert, AlertIncident, AlertState


def find_incident(
    alert: Alert, incidents: Sequence[AlertIncident], *, now: datetime
) -> AlertIncident | None:
    """Return the stored incident of an alert; None for a new one.

    `incidents` are the incidents of its fingerprint. An incident that the sender names decides;
    else the times do: an outage ends at the first end after it, so a late report of an outage is
    not taken for another outage.
    """
    if alert.incident is not None:
        return next((each for each in incidents if each.incident == alert.incident), None)
    open_one = next((each for each in incidents if each.state is AlertState.FIRING), None)
    over = sorted(
        (each for each in incidents if each.resolved_at is not None),
        key=lambda each: (each.resolved_at, each.id),
    )
    if alert.state is AlertState.FIRING:
        at = alert.at or now
        return next(
            (each for each in over if each.resolved_at and each.resolved_at >= at), open_one
        )
    if alert.at is None:
        return open_one or (over[-1] if over else None)
    known = next((each for each in over if each.resolved_at == alert.at), None)
    return known or open_one


def incident_name(alert: Alert, *, now: datetime) -> str:
    """Return the identifier of a new incident."""
    return alert.incident if alert.incident is not None else (alert.at or now).isoformat()
