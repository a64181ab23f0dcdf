"""Commands of a person for incidents."""

import os

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import Unavailable
from lamplighter.domain.services.incident import Incident
from lamplighter.engines.process import MARK
from lamplighter.serve import home
from lamplighter.usecases.system import incident_changes
from lamplighter.usecases.system.incident_changes import IncidentChange


def change(settings: Settings, number: int, wanted: IncidentChange) -> Incident:
    """Change an incident; raises NotFound, Invalid, Conflict, and Unavailable within a session."""
    if os.environ.get(MARK):
        raise Unavailable("A session cannot change incidents. Ask a person.")
    return home.run(
        settings, lambda db: incident_changes.change(home.context(settings, db), number, wanted)
    )
