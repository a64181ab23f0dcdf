"""Latency over a period and heartbeats of services."""
