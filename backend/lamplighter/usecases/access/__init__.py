"""Access: tokens, logins, devices, the boundaries between projects, and the journal of acts."""
