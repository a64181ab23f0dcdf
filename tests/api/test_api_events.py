"""Events over HTTP: their filters, their groups, and their counts over time."""

import httpx2
import pytest
from route_requests import Asking

from living import Server

EVENTS = "/api/v1/events"


def test_an_invalid_time_range_is_rejected_with_its_field(client: httpx2.Client) -> None:
    for query, field in (
        ({"from": "yesterday"}, "from"),
        ({"to": "2026-01-01"}, "to"),
        ({"from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"}, "to"),
    ):
        for path in ("", "/groups", "/density"):
            answer = client.get(EVENTS + path, params=query)

            assert answer.status_code == 422
            assert [each["field"] for each in answer.json()["errors"]] == [field]


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_earliest_and_latest_times_are_valid_ranges(asking: Asking, moment: str) -> None:
    asking.event()

    for name in ("from", "to"):
        for buckets in (2, 300):
            query = {name: moment, "buckets": buckets}
            answer = asking.client.get(f"{EVENTS}/density", params=query)
            assert answer.status_code == 200
            assert 1 <= len(answer.json()["stretches"]) <= buckets


def test_counts_and_lists_of_events_match(own_server: Server, own_client: httpx2.Client) -> None:
    for number in range(7):
        level = ("info", "critical")[number % 2]
        given = {"level": level, "text": f"Said {number // 4}", "service": "jellyfin"}
        own_client.post(EVENTS, json=given).raise_for_status()

    query = {"level": "critical", "service": "Jellyfin", "q": "said 0"}
    listed = own_client.get(EVENTS, params=query).json()["items"]
    grouped = own_client.get(f"{EVENTS}/groups", params=query).json()["items"]
    counted = own_client.get(f"{EVENTS}/density", params=query).json()
    same = own_client.get(EVENTS, params={"repeats_of": listed[0]["id"]}).json()["items"]
    earlier = own_client.get(EVENTS, params={"same": listed[0]["id"]}).json()["items"]

    assert earlier == same
    assert len(listed) == counted["total"] == grouped[0]["count"] == 2
    assert [each["id"] for each in same] == [each["id"] for each in listed]
    assert own_client.get(f"{EVENTS}/{listed[0]['id']}").json() == listed[0]
    assert own_client.get(f"{EVENTS}/99").status_code == 404
