"""`prices.toml`: prices of an operator's models that the published list lacks or differs from."""

import tomllib
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Final

from lamplighter.config.settings import Settings
from lamplighter.domain.errors import LamplighterError
from lamplighter.domain.sessions.cost import Price, Prices

NAME: Final = "prices.toml"
FILE_BYTES: Final = 1024 * 1024
NEEDED: Final = ("input", "output")
FIGURES: Final = (*NEEDED, "cache_read", "cache_write")
"""Dollars for a million tokens; the default for caches is the price of `input`."""


class PricesError(LamplighterError):
    """The file cannot be used; the message names it and the error."""


def prices_path(settings: Settings) -> Path:
    """Return the path of the optional file."""
    return settings.home / NAME


def active_prices(settings: Settings) -> Prices:
    """Return the operator's prices, none without a file; raises PricesError."""
    path = prices_path(settings)
    return load_prices(path) if path.exists() else {}


def load_prices(path: Path) -> Prices:
    """Return the prices of a file; raises PricesError."""
    try:
        with path.open("rb") as file:
            raw = file.read(FILE_BYTES + 1)
    except OSError as error:
        raise PricesError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > FILE_BYTES:
        raise PricesError(f"{path}: the file is larger than 1 MiB")
    try:
        found = tomllib.loads(raw.decode("utf-8-sig"))
        return {model: _price(model, given) for model, given in found.items()}
    except UnicodeDecodeError as error:
        raise PricesError(f"{path}: not UTF-8") from error
    except RecursionError as error:
        raise PricesError(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise PricesError(f"{path}: {error}") from error


def _price(model: str, value: Any) -> Price:
    if not isinstance(value, Mapping):
        raise ValueError(f'{model}: write a table, ["{model}"], with {" and ".join(NEEDED)}')
    unknown = sorted(set(value) - set(FIGURES))
    if unknown:
        raise ValueError(f"{model}: {unknown[0]} is not one of {', '.join(FIGURES)}")
    figures = {name: _dollars(model, name, value[name]) for name in FIGURES if name in value}
    missing = [name for name in NEEDED if name not in figures]
    if missing:
        raise ValueError(f"{model}: {missing[0]} is missing")
    return Price(
        input=figures["input"],
        output=figures["output"],
        cache_read=figures.get("cache_read", figures["input"]),
        cache_write=figures.get("cache_write", figures["input"]),
    )


def _dollars(model: str, name: str, value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not isfinite(value) or value < 0:
        raise ValueError(f"{model}: {name} must be dollars per million tokens, 0 or more")
    return float(value)
