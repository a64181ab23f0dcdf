"""Learning: what incidents show of which action repairs which failure."""
