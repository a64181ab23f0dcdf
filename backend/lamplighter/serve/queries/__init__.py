"""What commands that only read are answered with, by the web process or in their own process.

One module answers one kind of question and imports only what that needs: a command that no web
process answers loads it, and a person waits for it.
"""
