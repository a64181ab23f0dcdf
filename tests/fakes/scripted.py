"""A fake engine: stores its input next to its script, then prints the script."""

import sys
from pathlib import Path

script = Path(sys.argv[1])
script.with_suffix(".heard").write_bytes(sys.stdin.buffer.read())
sys.stdout.buffer.write(script.read_bytes())
