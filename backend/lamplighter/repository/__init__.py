"""Storage: the only package with SQL."""

from lamplighter.repository.store.database import Database as Database
from lamplighter.repository.store.database import reading as reading
from lamplighter.repository.store.database import writing as writing
