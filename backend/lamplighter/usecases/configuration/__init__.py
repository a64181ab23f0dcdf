"""Edits of the configuration in the app: services.yaml and the settings file."""
