"""Keys of `services.yaml` with times in them."""
