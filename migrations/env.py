"""Alembic's environment: it runs on the connection that `repository/migrate.py` hands over."""

from alembic import context

connection = context.config.attributes["connection"]
context.configure(connection=connection, transactional_ddl=True, render_as_batch=False)
context.run_migrations()
