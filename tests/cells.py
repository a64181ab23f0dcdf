"""Many cells of one table in one test: pytest needs more time for a test than a request takes."""

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from inspect import iscoroutinefunction, signature
from typing import Any

SHOWN = 10

Test = Callable[..., None]


def walk(
    names: str | tuple[str, ...], cells: Iterable[Any], ids: Callable[[Any], str] = repr
) -> Callable[[Test], Test]:
    """Call a test once for each cell; what fails names its cell, and the rest is tried as well.

    It is written as `pytest.mark.parametrize` is.
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
