"""Figures the product is held to, each as a ratio to a limit measured in the same run."""
