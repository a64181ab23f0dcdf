"""A banner reports that nothing is saved while the database file is missing."""

from playwright.sync_api import Page, expect

from app import App


def test_a_banner_reports_a_moved_database_until_it_is_restored(
    page: Page, app: App, expected: set[int]
) -> None:
    expected.add(503)
    page.goto(f"{app.url}/memories")
    file, aside = app.home / "lamplighter.db", app.home / "aside.db"
    banner = page.get_by_role("status", name="Changes cannot be saved")
    expect(page.get_by_role("heading", name="Memories", level=1)).to_be_visible()
    expect(banner).to_have_count(0)

    file.rename(aside)

    expect(banner).to_contain_text("was deleted or moved", timeout=20_000)
    expect(banner).to_contain_text("lamplighter doctor")
    aside.rename(file)
    expect(banner).to_have_count(0, timeout=20_000)
