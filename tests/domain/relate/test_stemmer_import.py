"""What the stemmer loads."""

import subprocess
import sys


def test_only_the_stemmer_in_use_is_loaded() -> None:
    loads = (
        "import sys; from lamplighter.domain.relate import text;"
        " print(*sorted(each for each in sys.modules if each.endswith('_stemmer')))"
    )

    found = subprocess.check_output([sys.executable, "-c", loads], text=True, timeout=60)

    assert found.split() == ["snowballstemmer.porter_stemmer"]
