"""Keep knowledge in order: near-duplicates, facts in episodes, and digests of old episodes."""
