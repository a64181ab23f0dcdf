"""Git repositories at the top of the allow-listed roots: commits, branches and tags.

git reads a copy of the settings that can run no program, with an environment of its own.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Conflict, LamplighterError
from lamplighter.domain.shell.judge import PermittedCommand
from lamplighter.domain.verify.claims import ClaimKind, TextClaim
from lamplighter.domain.verify.verdict import Answer, AnswerState
from lamplighter.engines.bounded import ProgramResult, run_bounded
from lamplighter.supervisor.sources.files import Roots
from lamplighter.supervisor.tools.opened import prepared
from lamplighter.supervisor.tools.readable import Readable
from lamplighter.supervisor.tools.shell import COMMAND_ENV

GIT_SECONDS: Final = 10.0
OUTPUT_BYTES: Final = 64 * 1024
MAX_REPOSITORIES: Final = 8
SOURCE: Final = "git"


async def answer(roots: Roots, claim: TextClaim, *, project: str) -> Answer | None:
    """Answer whether a commit, branch or tag exists.

    Absence counts only if the text can be about just one repository.
    """
    if claim.subject.startswith("-") or ".." in claim.subject:
        return None
    places, only = roots.of_project(project)
    tops = [each for each in places if (each / ".git").is_dir()][:MAX_REPOSITORIES]
    problem = ""
    for top in tops:
        try:
            found = await _find(roots.readable, top, claim)
        except LamplighterError as error:
            problem = str(error)
            continue
        if found:
            detail = f"{claim.kind} {claim.subject} is in {top} ({found[:12]})"
            return Answer(AnswerState.CONFIRMED, SOURCE, detail)
    if problem:
        return Answer(AnswerState.UNKNOWN, SOURCE, problem)
    if len(tops) == 1 and (only or len(places) == 1):
        detail = f"{tops[0]} has no {claim.kind} {claim.subject}"
        return Answer(AnswerState.REFUTED, SOURCE, detail)
    return None


def _names(claim: TextClaim) -> Sequence[str]:
    match claim.kind:
        case ClaimKind.COMMIT:
            return (f"{claim.subject}^{{commit}}",)
        case ClaimKind.TAG:
            return (f"refs/tags/{claim.subject}",)
    return (f"refs/heads/{claim.subject}", f"refs/remotes/origin/{claim.subject}")


async def _find(readable: Readable, top: Path, claim: TextClaim) -> str:
    for name in _names(claim):
        words = ("git", "-C", str(top), "rev-parse", "--verify", "--quiet", name)
        ended = await run_read_only(PermittedCommand(words, paths=(2,)), readable)
        if ended.error or ended.timed_out:
            raise Conflict(ended.error or f"git did not end within {GIT_SECONDS:g} s")
        if ended.exit_code == 0:
            return ended.output.decode("utf-8", "replace").strip()
    return ""


async def run_read_only(
    permitted: PermittedCommand, readable: Readable, *, seconds: float = GIT_SECONDS
) -> ProgramResult:
    """Run a permitted command without a shell, on the current targets of its paths.

    Raises NotFound if a program or a path is missing, Conflict if it may not be read.
    """
    async with prepared(permitted, readable) as ready:
        return await run_bounded(
            ready.argv,
            timeout=seconds,
            output_bytes=OUTPUT_BYTES,
            env={**COMMAND_ENV, **ready.env},
            directory=ready.directory,
            fds=ready.fds,
        )
