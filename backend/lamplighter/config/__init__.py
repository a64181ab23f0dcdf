"""Configuration, read at the edge and passed inward as plain values."""
