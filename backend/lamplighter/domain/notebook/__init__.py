"""The notebook: which memories belong to which page, and what an edit of a page means."""

from typing import Final

INDEX: Final = "MEMORY"
