"""Add the built app to the wheel, without the stamp file of `make`."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLACE = "lamplighter/_assets/web"


class AppHook(BuildHookInterface):  # type: ignore[type-arg]
    """Include every file of the built app."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Fail if a standard wheel has no built app. An editable install may precede the build."""
        app = Path(self.root, "frontend", "dist")
        if version == "standard" and not (app / "index.html").is_file():
            raise SystemExit("The app is not built yet: run `make frontend/dist/.stamp` first.")
        for path in app.rglob("*"):
            if path.is_file() and path.name != ".stamp":
                build_data["force_include"][str(path)] = f"{PLACE}/{path.relative_to(app)}"
