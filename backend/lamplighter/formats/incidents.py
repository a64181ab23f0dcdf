"""Incidents as JSON."""

from typing import Final

from lamplighter.domain.services.incident import Incident
from lamplighter.formats.serialize import Writer

incident: Final = Writer[Incident]()
