"""All sources together: each claim goes to the sources that can answer it."""

import asyncio
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.services.service import Services, normalize_service_name
from lamplighter.domain.verify.claims import ClaimKind, TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.supervisor.sources import files, repositories
from lamplighter.supervisor.sources.files import Roots
from lamplighter.supervisor.sources.manifests import Declared, Manifests, fold, read_manifests
from lamplighter.supervisor.tools.opened import PATH

MANIFEST_SECONDS: Final = 30.0
SERVICES_FILE: Final = "services.yaml"
_GIT: Final = (ClaimKind.COMMIT, ClaimKind.BRANCH, ClaimKind.TAG)
_FILES: Final = (ClaimKind.PATH, ClaimKind.DIRECTORY)

_confirmed = partial(Answer, AnswerState.CONFIRMED)
_refuted = partial(Answer, AnswerState.REFUTED)


@dataclass(slots=True)
class GroundTruth:
    """Answers claims from allow-listed sources: roots, services.yaml, names of variables.

    `variables` are names only; no value of the environment is ever read.
    """

    roots: Roots
    services: Callable[[], Services]
    variables: frozenset[str] = frozenset()
    _manifests: dict[Path, tuple[float, Manifests]] = field(default_factory=dict)

    async def answer(self, claims: Sequence[TextClaim], *, project: str) -> dict[TextClaim, Answer]:
        """Return the answers to claims of a project; a claim may have no answer."""
        local = [each for each in claims if each.kind not in _GIT]
        found = await asyncio.to_thread(self._answer_local, local, project)
        for claim in claims:
            if claim.kind in _GIT:
                found[claim] = await repositories.answer(self.roots, claim, project=project)
        return {claim: each for claim, each in found.items() if each is not None}

    def _answer_local(
        self, claims: Sequence[TextClaim], project: str
    ) -> dict[TextClaim, Answer | None]:
        try:
            services = self.services()
        except LamplighterError:
            services = Services()
        return {each: self._answer_one(each, services, project) for each in claims}

    def _answer_one(self, claim: TextClaim, services: Services, project: str) -> Answer | None:
        if claim.kind in _FILES:
            return files.answer(self.roots, claim, project=project)
        match claim.kind:
            case ClaimKind.PORT:
                return self._port(claim, services, project)
            case ClaimKind.VERSION:
                return self._version(claim, project)
            case ClaimKind.SERVICE:
                return _declared(claim, services)
            case ClaimKind.DEPENDENCY:
                return _dependency(claim, services)
            case ClaimKind.SETTING:
                return self._setting(claim, project)
            case ClaimKind.COMMAND:
                return _command(claim)
        return None

    def _port(self, claim: TextClaim, services: Services, project: str) -> Answer | None:
        """Compare with the ports in checks and compose files; others may be in use."""
        service = services.find(claim.subject)
        ends = [check.endpoint for check in service.checks] if service else []
        ports = [Declared(str(end[1]), Path(SERVICES_FILE)) for end in ends if end is not None]
        for manifests, _ in self._of_project(project):
            ports += manifests.ports.get(fold(claim.subject), ())
        for each in ports:
            if each.value == claim.value:
                return _confirmed(each.file.name, f"{claim.subject} has port {claim.value}")
        if not ports or not claim.firm:
            return None
        listed = ", ".join(dict.fromkeys(each.value for each in ports))
        detail = f"{claim.subject} has port {listed}, not {claim.value}"
        return _refuted(ports[0].file.name, detail)

    def _version(self, claim: TextClaim, project: str) -> Answer | None:
        pinned: list[Declared] = []
        only = True
        for manifests, must in self._of_project(project):
            pinned += manifests.versions.get(fold(claim.subject), ())
            only = must
        for each in pinned:
            if _is_version(claim.value, each.value):
                return _confirmed(str(each.file), f"{claim.subject} is at {each.value}")
        if not pinned or not only:
            return None
        detail = f"{claim.subject} is at {pinned[0].value}, not {claim.value}"
        return _refuted(str(pinned[0].file), detail)

    def _setting(self, claim: TextClaim, project: str) -> Answer | None:
        """Confirm a name; its absence here is no statement about another process."""
        if claim.subject in self.variables:
            return _confirmed("environment names", f"{claim.subject} is set")
        for manifests, _ in self._of_project(project):
            if (file := manifests.settings.get(claim.subject)) is not None:
                return _confirmed(str(file), f"{claim.subject} is set for a service")
        return None

    def _of_project(self, project: str) -> list[tuple[Manifests, bool]]:
        places, only = self.roots.of_project(project)
        return [(self._read(each), only) for each in places]

    def _read(self, root: Path) -> Manifests:
        """Return the manifests of a root, read at most every 30 seconds."""
        at, held = self._manifests.get(root, (0.0, None))
        if held is None or time.monotonic() - at > MANIFEST_SECONDS:
            at, held = time.monotonic(), read_manifests(self.roots, root)
            self._manifests[root] = at, held
        return held


def _is_version(stated: str, pinned: str) -> bool:
    """Whether a version is the stated one; 1.2 covers every 1.2.x."""
    if stated == pinned:
        return True
    return pinned.startswith(f"{stated}.") and stated.replace(".", "").isdigit()


def _declared(claim: TextClaim, services: Services) -> Answer | None:
    if not services.path:
        return None
    if (service := services.find(claim.subject)) is not None:
        return _confirmed(SERVICES_FILE, f"{service.name} is declared")
    return _refuted(SERVICES_FILE, f"{claim.subject} is not declared")


def _dependency(claim: TextClaim, services: Services) -> Answer | None:
    """Confirm a declared dependency; an undeclared one may still exist."""
    service = services.find(claim.subject)
    needed = normalize_service_name(claim.value)
    if service and needed in map(normalize_service_name, service.depends_on):
        return _confirmed(SERVICES_FILE, f"{service.name} depends on {claim.value}")
    return None


def _command(claim: TextClaim) -> Answer:
    program = shutil.which(claim.subject, path=PATH)
    if program is not None:
        return _confirmed("programs", f"{claim.subject} is {program}")
    where = "in none of the system directories of this machine"
    return _refuted("programs", f"{claim.subject} is {where}")
