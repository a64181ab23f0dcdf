"""Learning from incidents: which action repairs which failure."""
