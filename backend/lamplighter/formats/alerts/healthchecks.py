"""Healthchecks' webhook: the body is the operator's, made of its variables."""

from collections.abc import Mapping
from typing import Any, Final

from lamplighter.domain.errors import Invalid, InvalidField
from lamplighter.domain.services.alert import Alert, AlertState
from lamplighter.formats.alerts import payload as words

STATES: Final = {"down": AlertState.FIRING, "up": AlertState.RESOLVED}
SILENT_STATES: Final = ("new", "started", "grace", "paused")
DETAIL_FIELDS: Final = (
    "desc",
    "tags",
    "slug",
    "schedule",
    "last_ping",
    "n_pings",
    "body",
    "exitstatus",
)


def parse(payload: Mapping[str, Any]) -> list[Alert]:
    """Return the alert of a check that went down or up."""
    check = {**payload, **words.mapping(payload.get("check"))}
    name = words.first_text(check, "name", "slug") or "Unnamed check"
    own = words.first_text(payload, "code") or words.first_text(
        check, "uuid", "unique_key", "slug", "name"
    )
    status = words.first_text(payload, "status") or words.first_text(check, "status")
    wrong = [
        InvalidField(field, "is missing")
        for field, given in (("status", status), ("code", own))
        if not given
    ]
    if wrong:
        raise Invalid(*wrong)
    if status.lower() in SILENT_STATES:
        return []
    state = STATES.get(status.lower())
    if state is None:  # such as `$STATUS`, if the monitor sends its template as it is
        raise Invalid(InvalidField("status", "must be up or down"))
    tags = words.first_text(check, "tags").split()
    return [
        Alert(
            fingerprint=words.join_key(own),
            state=state,
            at=words.moment(payload.get("now")),
            title=f"{name} is {status.lower()}",
            names=words.names([name, words.first_text(check, "slug"), *tags]),
            tier=words.tier(check.get("tier")),
            details=words.details({field: check.get(field) for field in DETAIL_FIELDS}),
        )
    ]
