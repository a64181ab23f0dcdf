"""`lamplighter demo`: three small services fail, and Lamplighter repairs them."""
