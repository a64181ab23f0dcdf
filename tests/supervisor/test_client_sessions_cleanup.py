"""A supervisor ends no client sessions except inactive ones."""

from homes import Home

from living import lately

CLIENT = (
    "INSERT INTO sessions (external_id, project, tier, engine, trigger, status, prompt, started_at)"
    " VALUES (?, 'p', 0, 'client', 'client', 'running', '', ?)"
)
STATUS = "SELECT status FROM sessions WHERE external_id = ?"


def test_supervisor_interrupts_only_inactive_client_sessions(home: Home) -> None:
    assert home.run("migrate").returncode == 0
    home.rows(CLIENT, "silent", lately(hours=25))
    home.rows(CLIENT, "living", lately(hours=23))

    home.start("supervisor")
    home.until(lambda: home.value(STATUS, "silent") == "interrupted")

    home.until(lambda: home.value("SELECT count(*) FROM sessions WHERE trigger = 'scheduled'"))
    assert home.value(STATUS, "living") == "running"
