"""Sources of verification: allow-listed files, repositories, services.yaml and the environment."""
