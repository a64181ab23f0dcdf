"""An operations agent that remembers."""

__version__ = "0.1.0"
