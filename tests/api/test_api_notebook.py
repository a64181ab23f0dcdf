"""The notebook over the API: pages are read, and a write is refused if its version is outdated."""

import httpx2

from living import Server

PAGE = "/api/v1/notebook/services/jellyfin"


def test_a_page_is_written_and_read_and_a_stale_write_is_refused(
    own_client: httpx2.Client,
) -> None:
    client = own_client
    made = client.put(PAGE, json={"text": "# jellyfin\n\n- [timing] Takes 60s to start\n"})
    assert made.status_code == 200, made.text
    assert made.json()["edits"] == 1
    assert "^m1" in made.json()["text"]
    read = client.get(PAGE)
    assert read.headers["etag"] == made.headers["etag"]
    text = read.json()["text"].replace("60s", "90s")
    tag = {"If-Match": read.headers["etag"]}

    first = client.put(PAGE, json={"text": text}, headers=tag)
    second = client.put(PAGE, json={"text": "gone"}, headers=tag)

    assert first.status_code == 200
    assert client.get("/api/v1/memories/1").json()["observation"] == "Takes 90s to start"
    assert second.status_code == 412
    assert "90s" in second.json()["current"]["text"]
    assert client.get("/api/v1/notebook/services/..%5cx").status_code == 404
    assert client.get("/api/v1/notebook/..%2f..%2fetc/passwd").status_code == 404
    listed = client.get("/api/v1/notebook").json()["pages"]
    assert [each["path"] for each in listed] == ["MEMORY", "services/jellyfin"]
    assert "services/jellyfin" in client.get("/api/v1/notebook/MEMORY").json()["text"]


def test_a_page_with_a_zero_byte_is_refused_and_not_written(own_client: httpx2.Client) -> None:
    refused = own_client.put(PAGE, json={"text": "- [timing] Takes 60s\0 to start\n"})

    assert refused.status_code == 422
    assert refused.json()["errors"] == [
        {"field": "text", "message": "contains an invalid character"}
    ]
    assert own_client.get(PAGE).status_code == 404


def test_notes_in_the_index_are_saved_and_other_changes_need_a_review(
    own_client: httpx2.Client,
) -> None:
    client, index = own_client, "/api/v1/notebook/MEMORY"
    client.put(PAGE, json={"text": "# jellyfin\n\n- [timing] Takes 60s to start\n"})
    read = client.get(index).json()
    assert read["stored"] == read["text"]
    notes = f"{read['text']}\n## Notes\n\nAsk Ada before a restart\n"

    made = client.put(index, json={"text": notes}, headers={"If-Match": f'"{read["digest"]}"'})

    assert (made.status_code, made.json()["for_review"]) == (200, {})
    assert "Ask Ada" in made.json()["text"]
    stale = client.put(index, json={"text": notes}, headers={"If-Match": f'"{read["digest"]}"'})
    assert stale.status_code == 412
    assert stale.json()["current"]["digest"] == made.json()["digest"]
    other = client.put(index, json={"text": "# Mine\n"})
    assert list(other.json()["for_review"]) == ["MEMORY"]
    listed = client.get("/api/v1/notebook").json()
    assert listed["index_limit"] == 2000
    assert [each["path"] for each in listed["pages"] if each["reasons"]] == ["MEMORY"]
    assert client.get("/api/v1/reviews").json()["pages"] == 1
    assert client.get("/api/v1/overview").json()["pages"]["open"] == 1
    health = client.post("/api/v1/memory-health/measurements", json={}).json()
    assert health["measurement"]["figures"]["reviews"] == 1
    client.put("/api/v1/notebook", json={"resolution": "discard", "pages": ["MEMORY"]})
    assert client.get("/api/v1/reviews").json()["pages"] == 0
    rows = [
        each["row"]
        for each in client.get("/api/v1/changes").json()["items"]
        if each["entity"] == "page_review"
    ]
    assert rows == [{"pages": 1}, {"pages": 0}]


def test_a_page_query_matches_notes_and_memories_by_all_words(
    own_server: Server, own_client: httpx2.Client
) -> None:
    spare_disk = "The spare disk is in the blue cupboard."
    text = f"# jellyfin\n\n{spare_disk}\n\n- [timing] Takes 60s to start\n"
    own_client.put(PAGE, json={"text": text})

    def found(query: str) -> list[tuple[str, str]]:
        pages = own_client.get("/api/v1/notebook", params={"q": query}).json()["pages"]
        return [(each["path"], each["excerpt"]) for each in pages]

    assert found("cupboard BLUE") == [("services/jellyfin", spare_disk)]
    assert found("60s disk")[0][0] == "services/jellyfin"
    assert found("60s nowhere") == []
    assert [path for path, _ in found(" ")] == ["MEMORY", "services/jellyfin"]
    told = own_server.home.ask("notebook", "list", "--query", "blue")
    assert spare_disk in told.stdout
    nothing = own_server.home.ask("notebook", "list", "--query", "nowhere")
    assert nothing.stdout == "No page has all of these words.\n"
