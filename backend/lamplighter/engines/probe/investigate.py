"""Tier 2: which stage fails, which service failed first, and since when. Read-only."""

import asyncio
import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from lamplighter.domain.services.check import Check, DnsCheck, HttpCheck, TcpCheck, TlsCheck
from lamplighter.domain.services.event import Level
from lamplighter.domain.services.service import Service
from lamplighter.engines.probe import checks, evidence, findings
from lamplighter.engines.probe.facts import CheckOutcome
from lamplighter.engines.probe.findings import FailureCause
from lamplighter.engines.probe.text import inline
from lamplighter.engines.probe.watch import ProbeSession, failing

CHARACTERS = 1000
STAGE_NOUNS = {
    "dns": "the DNS lookup",
    "tcp": "the TCP connection",
    "tls": "the TLS handshake",
    "http": "the HTTP answer",
}


@dataclass(frozen=True, slots=True)
class FailedStage:
    """The stage that fails, why, and the stages that succeeded before it."""

    stage: str
    detail: str
    passed: tuple[str, ...] = ()

    def __str__(self) -> str:
        succeed = "succeed" if len(self.passed) > 1 else "succeeds"
        before = f"; {' and '.join(self.passed)} {succeed}" if self.passed else ""
        where = STAGE_NOUNS.get(self.stage, f"the {self.stage} check")
        return f"{where} fails: {self.detail}{before}"


async def isolate(outcome: CheckOutcome) -> FailedStage:
    """Try each stage that a failed check passes through, until one fails by itself.

    If none does, the check's own last stage fails.
    """
    check = outcome.check
    passed: list[str] = []
    for stage, part in _parts(check):
        tried = await checks.run(part, look_again=False)
        if not tried.ok:
            return FailedStage(stage, tried.detail, tuple(passed))
        passed.append(STAGE_NOUNS[stage])
    return FailedStage(check.kind, outcome.detail, tuple(passed))


def _parts(check: Check) -> Iterator[tuple[str, Check]]:
    """Yield the stages of a check before its last one, each as a check of its own."""
    if check.endpoint is None:
        return
    host, port = check.endpoint
    within = check.timeout
    if not _is_address(host):
        yield "dns", DnsCheck(name="dns", host=host, timeout=within, retries=0)
    if not isinstance(check, TcpCheck):
        yield "tcp", TcpCheck(name="tcp", host=host, port=port, timeout=within, retries=0)
    # without verification, a check does not fail for an expired certificate, unlike a TLS check
    if isinstance(check, HttpCheck) and check.url.startswith("https:") and check.verify_tls:
        tls = TlsCheck(name="tls", host=host, port=port, timeout=within, retries=0, ca=check.ca)
        yield "tls", tls


def _is_address(host: str) -> bool:
    with suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        return True
    return False


@dataclass(frozen=True, slots=True)
class ServiceDiagnosis:
    """Findings about one service: the failed check, its stage, and the first to fail."""

    service: Service
    outcome: CheckOutcome
    isolated: FailedStage
    case: FailureCause
    evidence: Sequence[str] = ()
    """Return further evidence: about the service, or about the one that caused its failure."""


async def run(watch: ProbeSession) -> str:
    """Check the dependencies first, then the services; report the failures and their causes."""
    own = watch.request.services
    needs = (each for service in own for each in watch.request.needs(service))
    needed = {each.name: each for each in needs if each not in own}
    results = dict[str, Sequence[CheckOutcome]]()
    for layer in (needed.values(), own):
        for service, outcomes in await watch.look_at(layer):
            results[service.name] = outcomes
    ill = [each for each in own if failing(results[each.name])]
    for service in own:
        if service not in ill:
            await _report_passing(watch, service, results)
    diagnoses = await asyncio.gather(*(_diagnose(watch, service, results) for service in ill))
    for each in diagnoses:
        _report_service(watch, each)
    return _summary(diagnoses, _escalate_cause(watch, diagnoses, results))


async def _diagnose(
    watch: ProbeSession, service: Service, outcomes: Mapping[str, Sequence[CheckOutcome]]
) -> ServiceDiagnosis:
    outcome = failing(outcomes[service.name])[0]
    isolated = await isolate(outcome)
    case = findings.find_cause(service, outcome, watch.request, outcomes)
    root = case.cause or service
    shown = await evidence.gather(root, failing(outcomes[root.name])[0], outcomes, watch.request)
    return ServiceDiagnosis(service, outcome, isolated, case, shown)


async def _report_passing(
    watch: ProbeSession, service: Service, outcomes: Mapping[str, Sequence[CheckOutcome]]
) -> None:
    """Report a service that passes: with the evidence of its warning, or healthy."""
    facts = watch.request.facts
    warned = [each for each in outcomes[service.name] if findings.is_warning(service, each, facts)]
    if not warned:
        watch.emit_text(f"[EVENT:info:{service.name}] Healthy again without a repair")
        return
    shown = await evidence.gather(service, warned[0], outcomes, watch.request)
    words = "; ".join([findings.describe(service, warned[0], facts), *shown])
    watch.emit_text(f"[EVENT:warning:{service.name}] {inline(words, CHARACTERS + 500)}")


def _report_service(watch: ProbeSession, diagnosis: ServiceDiagnosis) -> None:
    service, outcome, case = diagnosis.service, diagnosis.outcome, diagnosis.case
    names = {"service": service.name, "check": outcome.check.name}
    use = watch.begin_use("isolate", **names)
    values = {
        **names,
        "stage": diagnosis.isolated.stage,
        "cause": case.cause.name if case.cause else None,
        "detail": inline(diagnosis.isolated.detail, CHARACTERS),
    }
    printed = "\n".join([str(diagnosis.isolated), *diagnosis.evidence])
    watch.end_use(use, printed, failed=True, values=values)
    level = Level.WARNING if case.cause else Level.CRITICAL
    words = "; ".join([f"{outcome.check.name}: {diagnosis.isolated}; {case}", *diagnosis.evidence])
    watch.emit_text(f"[EVENT:{level}:{service.name}] {inline(words, CHARACTERS + 500)}")


def _escalate_cause(
    watch: ProbeSession,
    diagnoses: Sequence[ServiceDiagnosis],
    outcomes: Mapping[str, Sequence[CheckOutcome]],
) -> list[str]:
    """Escalate the services that failed first; their dependents recover with them."""
    reasons: dict[str, str] = {}
    for each in diagnoses:
        root = each.case.cause or each.service
        own = root in watch.request.services  # tier 1 has decided whether a person must act
        if root.name in watch.request.facts.waiting and not own:
            continue
        detail = failing(outcomes[root.name])[0].detail if each.case.cause else str(each.isolated)
        reasons.setdefault(root.name, "; ".join([detail, *each.evidence]))
        if each.case.cause:
            reasons[root.name] += f"; {each.service.name} fails with it"
    for name, reason in reasons.items():
        watch.emit_text(f"[ESCALATE:{name}] {inline(reason, CHARACTERS)}")
    return list(reasons)


def _summary(found: Sequence[ServiceDiagnosis], handed: Sequence[str]) -> str:
    if not found:
        return "All services are healthy again without a repair."
    words = "; ".join(f"{each.service.name}: {each.isolated}" for each in found)
    after = f"; escalated: {', '.join(handed)}" if handed else ""
    return f"{inline(words + after, 1000)}."
