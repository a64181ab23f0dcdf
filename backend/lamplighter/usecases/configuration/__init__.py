"""The configuration, edited by a person: services.yaml and the settings file."""
