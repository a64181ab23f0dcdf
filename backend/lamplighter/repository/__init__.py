"""What is kept: the only package that speaks SQL."""

from lamplighter.repository.database import Database as Database
from lamplighter.repository.database import reading as reading
from lamplighter.repository.database import writing as writing
