"""Queries on the notebook: the last written state of its pages, and its reviews."""
