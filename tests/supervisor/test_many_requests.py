"""Many people request a repair of one service at once: the cooldown holds."""

import json
import sys
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from homes import Home

from living import free_port
from thorough import examples

TOUCHES = "import sys; open(sys.argv[1], 'a').write('ran\\n')"
ASKED = examples(24)


def ask(home: Home, path: str, body: object = None) -> int:
    request = urllib.request.Request(
        f"http://127.0.0.1:{home.env['LAMPLIGHTER_PORT']}{path}",
        data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json", **home.way_in()},
    )
    with suppress(OSError), urllib.request.urlopen(request, timeout=20) as answer:
        return int(answer.status)
    return 0


def test_concurrent_repair_requests_restart_a_service_twice(home: Home) -> None:
    port = free_port()
    home.env["LAMPLIGHTER_PORT"] = str(port)
    ran = home.path / "ran"
    action = json.dumps([sys.executable, "-c", TOUCHES, str(ran)])
    home.start("web")
    home.start("supervisor")
    home.until(lambda: ask(home, "/readyz") == 200)
    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE status = 'completed'"))
    (home.path / "services.yaml").write_text(
        "services:\n  web:\n    checks: [{tcp: '127.0.0.1:9', retries: 0}]\n"
        f"    actions:\n      - restart: {action}\n        wait: 1s\n"
    )
    wish = {"tier": 3, "services": ["web"]}

    with ThreadPoolExecutor(ASKED) as people:
        statuses = list(people.map(lambda _: ask(home, "/api/v1/sessions", wish), range(ASKED)))

    assert statuses == [202] * ASKED
    done = "SELECT count(*) FROM requests WHERE state = 'done'"
    home.until(lambda: home.value(done) == ASKED, seconds=90)
    assert ran.read_text() == "ran\n" * 2
    outcomes = [row[0] for row in home.rows("SELECT outcome FROM cooldowns ORDER BY id")]
    assert outcomes == ["failure"] * 2 + ["refused"] * (ASKED - 2)
