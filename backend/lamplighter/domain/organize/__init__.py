"""The organizer: merges near-duplicates, extracts facts from episodes, and digests old episodes."""
