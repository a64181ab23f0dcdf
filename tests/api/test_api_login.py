"""Login by a one-time code, persistent logins and logout; streams end with their login."""

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from lamplighter.api.access import login_page
from lamplighter.api.access.callers import CHECK_SECONDS, MAX_FAILURES
from lamplighter.api.access.login import INVALID_CODE
from living import Server

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
GOES_ON = '<meta http-equiv="refresh" content="0;url={}">'


@pytest.fixture
def browser(own_server: Server) -> Iterator[httpx2.Client]:
    """A browser without a login; it stores its cookies and follows no redirects."""
    with httpx2.Client(base_url=own_server.url, headers=HTML, timeout=20) as client:
        yield client


def ours(server: Server) -> dict[str, str]:
    return {"Origin": server.url}


def logged_in(browser: httpx2.Client) -> bool:
    return browser.get("/api/v1/login").status_code == 200


def test_a_login_link_sets_the_cookie_and_redirects_to_the_app(
    own_server: Server, browser: httpx2.Client
) -> None:
    came = browser.get("/login", params={"code": own_server.home.code()})

    assert came.status_code == 200
    assert GOES_ON.format("/") in came.text
    assert '<a href="/">' in came.text
    cookie = came.headers["set-cookie"]
    assert cookie.startswith(f"lamplighter-{own_server.port}=lamp_1_")
    parts = {part.strip().lower() for part in cookie.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", "max-age=2592000"} <= parts
    assert "secure" not in parts
    who = browser.get("/api/v1/login").json()
    assert (who["kind"], who["scopes"]) == ("login", ["admin"])


def test_behind_https_the_cookie_is_secure(own_server: Server, browser: httpx2.Client) -> None:
    code = own_server.home.code()
    headers = {"X-Forwarded-Proto": "https"}  # from loopback, where a proxy would be

    came = browser.get("/login", params={"code": code}, headers=headers)

    assert "secure" in came.headers["set-cookie"].lower()
    assert came.headers["strict-transport-security"] == "max-age=31536000"
    assert "strict-transport-security" not in browser.get("/healthz").headers


def test_a_login_lists_and_ends_other_logins(
    own_server: Server, own_client: httpx2.Client, browser: httpx2.Client
) -> None:
    home = own_server.home
    assert browser.get("/login", params={"code": home.code()}).status_code == 200
    phone = {"User-Agent": "Mozilla/5.0 (Linux; Android 15) Chrome/138.0 Mobile Safari/537.36"}
    with (
        httpx2.Client(base_url=own_server.url, headers=phone, timeout=20) as second,
        httpx2.Client(base_url=own_server.url, headers=phone, timeout=20) as third,
    ):
        for each in (second, third):
            assert each.get("/login", params={"code": home.code()}).status_code == 200
        listed = browser.get("/api/v1/logins").json()["logins"]
        assert {each["browser"] for each in listed if not each["own"]} == {"Chrome on Android"}
        assert len(listed) == 3
        assert all("secret" not in key and key != "agent" for each in listed for key in each)
        assert "Login 2: Chrome on Android" in home.ask("login", "list").stdout

        ended = browser.delete("/api/v1/logins/2", headers=ours(own_server))

        assert ended.status_code == 204
        assert (logged_in(browser), logged_in(second), logged_in(third)) == (True, False, True)
        again = browser.delete("/api/v1/logins/2", headers=ours(own_server))
        assert (again.status_code, again.json()["detail"]) == (404, "Active login 2 not found.")
        acts = own_client.get("/api/v1/acts").json()["items"]
        assert [each["subject"] for each in acts] == ["login 2, Chrome on Android"]

        others = browser.delete("/api/v1/logins", headers=ours(own_server)).json()

        assert (others, logged_in(browser), logged_in(third)) == ({"ended": 1}, True, False)
    wrong = home.ask("login", "end")
    assert (wrong.returncode, "Pass the ID of a login, or --all." in wrong.stderr) == (2, True)
    assert home.ask("login", "end", "7").returncode == 2
    assert home.ask("login", "end", "--all").stdout == "1 login ended.\n"
    assert not logged_in(browser)


def test_a_typed_code_logs_in_and_redirects_to_the_requested_page(
    own_server: Server, browser: httpx2.Client
) -> None:
    page = browser.get("/memories", params={"category": "timing"})
    code = own_server.home.code().upper().replace("-", " ")

    came = browser.post(
        "/login", data={"code": f" {code} ", "next": onward(page)}, headers=ours(own_server)
    )

    assert page.status_code == 401
    assert onward(page) == "/memories?category=timing"
    assert GOES_ON.format("/memories?category=timing") in came.text
    assert logged_in(browser)


def onward(page: httpx2.Response) -> str:
    found = re.search(r'name="next" value="([^"]*)"', page.text)
    assert found
    return found[1]


@pytest.mark.parametrize(
    "address",
    [
        "",
        "x",
        "//evil.example",
        "/\\evil.example",
        "http://evil.example",
        'javascript:alert("x")',
        '/"><script>',
        "/a b",
        "/\n",
        "/;url=//evil.example",
    ],
)
def test_a_login_never_redirects_to_another_site(
    own_server: Server, browser: httpx2.Client, address: str
) -> None:
    came = browser.post("/login", data={"code": own_server.home.code(), "next": address})

    assert came.status_code == 200
    assert GOES_ON.format("/") in came.text
    assert "evil" not in came.text


def test_the_login_page_never_echoes_the_request(browser: httpx2.Client) -> None:
    page = browser.get('/"><script>alert(1)</script>', params={"q": '"><script>'})

    assert page.status_code == 401
    assert "<script" not in page.text


def test_a_wrong_code_is_reported_at_the_code_field(browser: httpx2.Client) -> None:
    for answer in (browser.get("/login?code=x"), browser.post("/login", data={"code": ""})):
        assert answer.status_code == 401
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert f'<p class="error" id="error" role="alert">{INVALID_CODE}</p>' in answer.text
        assert 'aria-invalid="true" aria-describedby="error hint"' in answer.text
        assert "lamplighter login" in answer.text
    assert not logged_in(browser)


def test_a_used_login_link_redirects_a_logged_in_browser(
    own_server: Server, browser: httpx2.Client
) -> None:
    code = own_server.home.code()
    browser.get("/login", params={"code": code})

    again, plain = browser.get("/login", params={"code": code}), browser.get("/login")

    for answer in (again, plain):
        assert answer.status_code == 200
        assert GOES_ON.format("/") in answer.text
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("HEAD", {}),
        ("GET", {"Sec-Purpose": "prefetch"}),
        ("GET", {"Sec-Fetch-Dest": "image"}),
        ("GET", {"Sec-Fetch-Dest": "iframe"}),
    ],
    ids=str,
)
def test_a_prefetch_does_not_use_up_the_code(
    own_server: Server, browser: httpx2.Client, method: str, headers: dict[str, str]
) -> None:
    code = own_server.home.code()

    looked = browser.request(method, "/login", params={"code": code}, headers=headers)

    assert looked.status_code == 200
    assert "set-cookie" not in looked.headers
    assert "set-cookie" in browser.get("/login", params={"code": code}).headers


def test_a_login_link_opened_concurrently_logs_in_once(own_server: Server) -> None:
    link = f"{own_server.url}/login?code={own_server.home.code()}"
    with ThreadPoolExecutor(8) as people:
        came = list(people.map(lambda _: httpx2.get(link, timeout=20), range(8)))

    assert sorted(each.status_code for each in came) == [200] + [401] * 7


def test_wrong_codes_lock_out_neither_other_addresses_nor_a_valid_code(
    own_server: Server, browser: httpx2.Client
) -> None:
    wrong = [browser.get(f"/login?code={number}").status_code for number in range(MAX_FAILURES)]

    over = browser.get("/login", params={"code": "another"})
    script = browser.get("/login", params={"code": "another"}, headers={"Accept": "*/*"})
    other = httpx2.HTTPTransport(local_address="127.0.0.2")
    with httpx2.Client(base_url=own_server.url, transport=other, timeout=20) as elsewhere:
        beside = elsewhere.get("/login", params={"code": "another"})
    right = browser.get("/login", params={"code": own_server.home.code()})

    assert wrong == [401] * MAX_FAILURES
    assert (over.status_code, script.status_code, beside.status_code) == (429, 429, 401)
    assert 1 <= int(over.headers["retry-after"]) <= 61
    assert script.json()["title"] == "Too many requests"
    assert right.status_code == 200


def test_a_repeated_wrong_code_counts_once(browser: httpx2.Client) -> None:
    found = {browser.get("/login?code=x").status_code for _ in range(2 * MAX_FAILURES)}

    assert found == {401}


def test_a_link_from_another_site_reloads_the_page_with_the_cookie(browser: httpx2.Client) -> None:
    """No cookie is sent with such a request; the next request has the cookie."""
    headers = {"Sec-Fetch-Site": "cross-site"}

    came = browser.get("/memories?category=timing", headers=headers)
    odd = browser.get("/a;url=//evil.example", headers=headers)

    assert (came.status_code, odd.status_code) == (401, 401)
    assert GOES_ON.format("/memories?category=timing") in came.text
    assert GOES_ON.format("/") in odd.text


@pytest.mark.parametrize("kind", ["application/json", "text/plain", "multipart/form-data"])
def test_the_login_page_accepts_only_form_data(browser: httpx2.Client, kind: str) -> None:
    answer = browser.post("/login", content=b"code=x", headers={"Content-Type": kind})

    assert answer.status_code == 415


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}],
    ids=str,
)
def test_another_site_cannot_log_in(
    own_server: Server, browser: httpx2.Client, headers: dict[str, str]
) -> None:
    code = own_server.home.code()

    assert browser.post("/login", data={"code": code}, headers=headers).status_code == 403
    assert browser.post("/login", data={"code": code}).status_code == 200


def test_the_login_page_loads_no_scripts_or_external_resources(browser: httpx2.Client) -> None:
    page = browser.get("/sessions/7")

    policy = page.headers["content-security-policy"]
    assert policy == login_page.headers()["Content-Security-Policy"]
    assert "script" not in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r"(?:src|href)=\"(?!data:|/)", page.text)


def test_only_the_login_page_has_its_content_security_policy(
    own_server: Server, own_client: httpx2.Client
) -> None:
    assert (
        own_client.get("/api/v1/login").headers["content-security-policy"]
        != (login_page.headers()["Content-Security-Policy"])
    )


def test_logging_out_ends_the_login_and_clears_the_cookie(
    own_server: Server, browser: httpx2.Client
) -> None:
    browser.get("/login", params={"code": own_server.home.code()})
    kept = dict(browser.cookies)

    out = browser.delete("/api/v1/login", headers=ours(own_server))

    assert out.status_code == 204
    assert "max-age=0" in out.headers["set-cookie"].lower()
    assert not browser.cookies
    browser.cookies.update(kept)
    assert not logged_in(browser)


def ends(server: Server, headers: dict[str, str], begun: threading.Event) -> bool:
    """Whether the stream ends."""
    with (
        httpx2.Client(timeout=CHECK_SECONDS * 2) as client,
        client.stream("GET", f"{server.url}/api/v1/stream", headers=headers) as answer,
    ):
        for line in answer.iter_lines():
            if line.startswith("event: hello"):
                begun.set()
    return True


@pytest.mark.parametrize("how", ["log out", "revoke", "command line"])
def test_a_stream_ends_when_its_login_or_token_ends(
    own_server: Server, own_client: httpx2.Client, browser: httpx2.Client, how: str
) -> None:
    made = own_client.post("/api/v1/tokens", json={"scopes": ["changes:read"]}).json()
    headers = {"Authorization": f"Bearer {made['token']}"}
    if how == "log out":
        browser.get("/login", params={"code": own_server.home.code()})
        [(cookie, words)] = browser.cookies.items()
        headers = {"Cookie": f"{cookie}={words}"}
    begun, other = threading.Event(), threading.Event()

    with ThreadPoolExecutor(2) as pool:
        following = pool.submit(ends, own_server, headers, begun)
        staying = pool.submit(ends, own_server, own_server.headers, other)
        assert begun.wait(20)
        assert other.wait(20)
        match how:
            case "log out":
                browser.delete("/api/v1/login", headers=ours(own_server))
            case "revoke":
                own_client.delete(f"/api/v1/tokens/{made['id']}")
            case _:  # another process: it is looked at again now and then
                own_server.home.ask("token", "revoke", str(made["id"]))
        assert following.result(CHECK_SECONDS * 2)
        assert not staying.done()
        own_server.kill()
        with pytest.raises(httpx2.HTTPError):
            staying.result(20)
