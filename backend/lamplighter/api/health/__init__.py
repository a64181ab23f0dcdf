"""The health of the memory over HTTP."""
