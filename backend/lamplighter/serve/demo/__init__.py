"""`lamplighter demo`: three small services that fail, and Lamplighter that mends them."""
