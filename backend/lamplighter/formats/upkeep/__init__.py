"""Health, organizer and revocation of memories as JSON; the halt file."""
