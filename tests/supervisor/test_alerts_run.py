"""An external alert, investigated by the real processes without a model."""

from contextlib import suppress

import httpx2
from homes import Home

from living import free_port

TOKEN = "what-monitors-show"
DOWN = {"service": "jellyfin", "title": "is down", "id": "7"}


def test_alert_is_investigated_without_a_model(home: Home) -> None:
    port = free_port()
    home.env |= {"LAMPLIGHTER_PORT": str(port), "LAMPLIGHTER_WEBHOOK_TOKEN": TOKEN}
    (home.path / "services.yaml").write_text(
        "services:\n  Jellyfin: {checks: [{name: port, tcp: '127.0.0.1:9'}]}\n"
    )
    home.start("up")

    def delivered() -> bool:
        with suppress(httpx2.HTTPError):
            shown, address = {"X-Lamplighter-Token": TOKEN}, f"http://127.0.0.1:{port}"
            answer = httpx2.post(f"{address}/api/v1/webhooks/x", json=DOWN, headers=shown)
            return answer.status_code in (200, 202)
        return False

    home.until(delivered)

    query = "SELECT status, engine, services FROM sessions WHERE trigger = 'alert'"
    home.until(lambda: home.rows(query) and home.rows(query)[0][0] != "running")
    [(status, engine, services)] = home.rows(query)
    assert (engine, services) == ("probe", '["Jellyfin"]')
    assert status in ("completed", "escalated")
    assert home.value("SELECT count(*) FROM checks WHERE service = 'Jellyfin'")
