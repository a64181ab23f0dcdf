"""The notebook: which memories belong to which page, and what an edit of a page means."""

from typing import Final

INDEX: Final = "MEMORY"
INDEX_BYTES: Final = 2_000
"""The maximum size of the index MEMORY.md, unless a setting says otherwise."""
