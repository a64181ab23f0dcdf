"""An operations agent that remembers."""

import atexit
import gc

__version__ = "0.1.0"

# start-up makes many long-lived objects; collecting them again and again takes a tenth of it
gc.set_threshold(10_000, 20, 20)
# Python collects them twice more at the end, which takes as long as a quarter of the start
atexit.register(gc.freeze)
