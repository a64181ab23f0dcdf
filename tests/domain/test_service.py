import pytest

from lamplighter.domain.services.check import TcpCheck
from lamplighter.domain.services.service import (
    Service,
    Services,
    normalize_service_name,
    undeclared_error,
)

PORT = TcpCheck(name="tcp", host="::1", port=5432)
JELLYFIN = Service(name="Jellyfin", description="Films", checks=(PORT,), depends_on=("postgres",))


@pytest.mark.parametrize(
    ("name", "folded"),
    [
        ("jellyfin", "jellyfin"),
        (" Claude Code ", "claude-code"),
        ("claude_code", "claude-code"),
        ("a _ \t b", "a-b"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("General", "general"),
    ],
)
def test_a_service_name_is_normalized(name: str, folded: str) -> None:
    assert normalize_service_name(name) == folded


def test_a_service_is_found_in_any_spelling() -> None:
    services = Services((JELLYFIN, Service(name="claude_code")), "services.yaml")

    assert services.find(" JELLYFIN") is JELLYFIN
    assert services.find("Claude Code") == Service(name="claude_code")
    assert services.find("caddy") is None
    assert [each.name for each in services] == ["Jellyfin", "claude_code"]


@pytest.mark.parametrize(
    ("name", "declared", "problem"),
    [
        ("ngnix", ("caddy", "nginx"), "service ngnix not found; did you mean nginx?"),
        ("JELLYFN", ("Jellyfin",), "service JELLYFN not found; did you mean Jellyfin?"),
        ("nosuch", ("a", "b"), "service nosuch not found; declared services: a, b"),
        (
            "nosuch",
            ("a", "b", "c", "d", "e", "f", "g"),
            "service nosuch not found; declared services: a, b, c, d, e and 2 more",
        ),
        ("jelly_fin", ("Jelly-Fin",), ""),
        ("General", ("nginx",), ""),
        ("nosuch", (), ""),
    ],
)
def test_an_undeclared_service_is_reported_with_the_closest_name(
    name: str, declared: tuple[str, ...], problem: str
) -> None:
    assert undeclared_error(name, declared) == problem
