"""Programs of the lab, in addition to the servers of the distribution."""
