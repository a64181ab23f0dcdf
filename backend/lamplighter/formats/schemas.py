"""The JSON Schemas of what tools take, in the few words that we use of JSON Schema."""

from collections.abc import Mapping
from typing import Any, Final

LARGEST: Final = 2**53 - 1
"""The largest whole number that every client can write."""

Schema = Mapping[str, Any]


def text_schema(about: str, most: int, **more: Any) -> Schema:
    """Return the schema of a text that says something."""
    return {"type": "string", "description": about, "minLength": 1, "maxLength": most, **more}


def number_schema(about: str, least: int, most: int) -> Schema:
    """Return the schema of a whole number."""
    return {"type": "integer", "description": about, "minimum": least, "maximum": most}


def list_schema(about: str, most: int, each: int) -> Schema:
    """Return the schema of a list of texts, `each` of so many characters at most."""
    items = {"type": "string", "maxLength": each}
    return {"type": "array", "description": about, "items": items, "maxItems": most}


def object_schema(example: Mapping[str, Any], required: int, **properties: Schema) -> Schema:
    """Return the schema of these properties, the first of which have to be given."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:required],
        "additionalProperties": False,
        "examples": [example],
    }
