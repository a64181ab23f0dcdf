"""The search over HTTP."""

import httpx2
import pytest

SEARCH = "/api/v1/search"


def add(client: httpx2.Client, observation: str, **more: object) -> dict[str, object]:
    given = {"category": "timing", "observation": observation, **more}
    made: dict[str, object] = client.post("/api/v1/memories", json=given).json()
    return made


def test_a_result_includes_its_row_and_the_reasons(client: httpx2.Client) -> None:
    held = add(client, "Quagga takes 60s to start", service="quagga")

    body = client.get(
        SEARCH, params={"q": "quagga start", "service": "Quagga", "layers": "memory"}
    ).json()

    hit, *others = body["items"]
    assert {each["memory"]["service"] for each in others} <= {None}  # general ones of other tests
    assert (hit["layer"], hit["rank"], hit["method"]) == ("memory", 1, "words")
    assert hit["memory"]["id"] == held["id"]
    assert hit["score"] == pytest.approx(sum(each["score"] for each in hit["reasons"]))
    assert [hit["text"][start:end] for start, end in hit["spans"]] == ["Quagga", "start"]
    assert body["terms"] == ["quagga", "start"]
    assert set(body["missing"]) <= {"vectors"}  # a model may still be loading
    assert body["next"] is None
    assert body["seq"] > 0


def test_filters_can_be_repeated_and_layers_listed(client: httpx2.Client) -> None:
    add(client, "Okapi one", category="decision", tags=["striped"])
    add(client, "Okapi two", category="config")
    client.post("/api/v1/events", json={"level": "info", "text": "Okapi seen"})

    def found(**params: object) -> int:
        answer = client.get(SEARCH, params={"q": "okapi", **params})  # type: ignore[dict-item]
        return len(answer.json()["items"])

    assert found() == 2
    assert found(category=["decision", "config"]) == 2
    assert found(category="config") == 1
    assert found(tag="striped") == 1
    assert found(layers="memory,event") == 3
    assert found(state="inactive") == 0
    assert found(limit=1) == 1


@pytest.mark.parametrize("query", ["", "\0", "NEAR(", '"', "-- !!", "x" * 5_000, "池", "%00"])
def test_any_text_is_a_valid_query(client: httpx2.Client, query: str) -> None:
    assert client.get(SEARCH, params={"q": query}).status_code == 200


@pytest.mark.parametrize(
    "params", [{"layers": "nowhere"}, {"layers": ""}, {"limit": 0}, {"page": 2}, {"since": "now"}]
)
def test_an_invalid_parameter_is_rejected(client: httpx2.Client, params: dict[str, object]) -> None:
    answer = client.get(SEARCH, params={"q": "x", **params})  # type: ignore[dict-item]

    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] in params
