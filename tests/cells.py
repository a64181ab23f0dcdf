"""Many table cells in one test: pytest's overhead per test exceeds the time of a request."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any

SHOWN = 10

Test = Callable[..., None]


def walk(
    names: str | tuple[str, ...], cells: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call a test once for each cell; a failure names its cell, and the other cells still run.

    Used like `pytest.mark.parametrize`.
    """
    named = (names,) if isinstance(names, str) else names
    tried: list[Sequence[Any]] = [(cell,) if isinstance(names, str) else cell for cell in cells]
    assert tried, f"{names}: no cells"

    def decorate(test: Test) -> Test:
        assert not iscoroutinefunction(test), "it would not be awaited"

        @wraps(test)
        def walked(*args: Any, **fixtures: Any) -> None:
            failures: list[Exception] = []
            for cell in tried:
                try:
                    test(*args, **fixtures, **dict(zip(named, cell, strict=True)))
                except Exception as failure:
                    failure.add_note(f"with {', '.join(named)} = {', '.join(map(ids, cell))}")
                    failures.append(failure)
            if failures:
                raise ExceptionGroup(f"{len(failures)} of {len(tried)} fail", failures[:SHOWN])

        form = signature(test)
        kept = [each for each in form.parameters.values() if each.name not in named]
        walked.__signature__ = form.replace(parameters=kept)  # type: ignore[attr-defined]
        return walked

    return decorate
