"""Checks that speak the protocol of a server, up to the first answer."""
