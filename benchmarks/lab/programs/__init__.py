"""Programs of the lab: what it operates beside the servers of the distribution."""
