"""Groups, tags, pauses, maintenance windows and targets in `services.yaml`."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from lamplighter.config.services import ServicesError, load
from lamplighter.domain.services.checks.silence import MaintenanceWindow

NIGHT = MaintenanceWindow(name="updates", cron="0 3 * * sun", zone="Europe/Berlin", seconds=7200.0)
MOVE = MaintenanceWindow(
    zone="Europe/Berlin",
    start=datetime(2026, 12, 1, 21, tzinfo=UTC),
    end=datetime(2026, 12, 2, 1, tzinfo=UTC),
)
GROUPS = """
groups:
  media:
    notify: [family]
    maintenance: [{cron: "0 3 * * sun", for: 2h, zone: Europe/Berlin, name: updates}]
services:
  films:
    group: Media
    tags: [home, video, home]
    checks: [tcp: 'a:1']
    maintenance: [{from: 2026-12-01 22:00, to: "2026-12-02T02:00:00", zone: Europe/Berlin}]
  music: {group: media, notify: [ops], paused: true, checks: [tcp: 'a:1']}
"""


def test_a_service_inherits_the_keys_of_its_group_and_may_override_them(tmp_path: Path) -> None:
    path = tmp_path / "services.yaml"
    path.write_text(GROUPS)

    films, music = load(path)

    assert (films.group, films.tags, films.notify) == ("Media", ("home", "video"), ("family",))
    assert films.maintenance == (NIGHT, MOVE)
    assert (music.paused, music.notify, music.maintenance) == (True, ("ops",), (NIGHT,))
    assert [each.name for each in load(path).select(group="media", tag="Home")] == ["films"]


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("group: medai", "unknown group 'medai'; did you mean 'media'?"),
        ("tags: home", "found text, wanted a list of names"),
        ("tags: ['a b']", "a name has 1 to 64 characters: letters, digits, _ or -"),
        ("paused: 2", "found a number, wanted true or false"),
        ("maintenance: {for: 2h}", "found a mapping, wanted a list of maintenance windows"),
        (
            "maintenance: [{cron: '0 3 * * *'}]",
            "a maintenance window has from and to, or cron and for",
        ),
        (
            "maintenance: [{from: 2026-12-02, to: 2026-12-01}]",
            "to is not after from",
        ),
        (
            "maintenance: [{from: tonight, to: 2026-12-01}]",
            "'tonight' is not a time such as 2026-12-01 22:00",
        ),
        (
            "maintenance: [{cron: '0 3 * * *', for: 2h, zone: Berlin}]",
            "'Berlin' is not a time zone such as Europe/Berlin",
        ),
    ],
)
def test_a_mistake_in_a_group_key_is_reported_with_its_line(
    tmp_path: Path, key: str, message: str
) -> None:
    path = tmp_path / "services.yaml"
    path.write_text(
        f"groups: {{media: {{}}}}\nservices:\n  x:\n    {key}\n    checks: [tcp: 'a:1']\n"
    )

    with pytest.raises(ServicesError) as caught:
        load(path)

    assert [(each.line, each.message) for each in caught.value.problems] == [(4, message)]


@pytest.mark.parametrize(
    ("zone", "start", "end", "expected"),
    [
        ("Europe/Berlin", "2026-03-29 01:30", "2026-03-29 03:15", ("00:30", "01:15")),
        ("Europe/Berlin", "2026-03-29 02:30", "2026-03-29 03:15", ("01:00", "01:15")),
        ("Europe/Berlin", "2026-03-29 01:30", "2026-03-29 02:30", ("00:30", "01:00")),
        ("Europe/Berlin", "2026-10-25 02:30", "2026-10-25 03:00", ("00:30", "02:00")),
        ("Europe/Berlin", "2026-10-25 02:30+01:00", "2026-10-25 03:00", ("01:30", "02:00")),
        ("America/New_York", "2026-03-08 02:30", "2026-03-08 03:30", ("07:00", "07:30")),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01 02:30", ("05:30", "07:30")),
        ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-04 02:45", ("15:30", "15:45")),
        ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-05 02:15", ("14:45", "15:45")),
    ],
)
def test_a_one_time_window_follows_the_clock_of_its_zone(
    tmp_path: Path, zone: str, start: str, end: str, expected: tuple[str, str]
) -> None:
    path = tmp_path / "services.yaml"
    window = f"{{from: '{start}', to: '{end}', zone: {zone}}}"
    path.write_text(f"services: {{x: {{maintenance: [{window}], checks: [tcp: 'a:1']}}}}\n")

    [service] = load(path)
    [found] = service.maintenance

    assert found.start
    assert found.end
    assert tuple(f"{each:%H:%M}" for each in (found.start, found.end)) == expected
