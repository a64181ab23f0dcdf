"""Services: their checks, alerts, incidents, actions, pauses and notifications."""
