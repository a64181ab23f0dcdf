"""A command finds pages of its home's notebook, without a running server."""

from pathlib import Path

from living import Home


def test_search_finds_page_text_and_reviews_counts_pages_to_review(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    page = home.path / "notebook" / "services" / "jellyfin.md"
    assert home.ask("notebook", "sync").returncode == 0
    page.parent.mkdir(parents=True)
    page.write_text("# jellyfin\n\nThe plug is in the blue cupboard.\n\n- [odd] A line\n")
    done = home.ask("notebook", "sync")
    assert done.returncode == 1, "a page with an unknown tag needs a review"
    assert "services/jellyfin.md needs a review: " in done.stdout
    assert home.ask("notebook", "sync").returncode == 1, "it still does"

    found = home.ask("search", "blue cupboard")

    assert found.returncode == 0
    assert "page services/jellyfin" in found.stdout
    assert "blue cupboard" in found.stdout
    assert "MEMORY.md  index\n" in home.ask("notebook", "list").stdout
    assert "1 notebook page to review" in home.ask("reviews").stdout
