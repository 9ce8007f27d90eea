"""Names for addresses. The contract is SPEC.md."""
import re
import unicodedata


def slugify(text, limit=40):
    if limit < 1:
        raise ValueError("limit must be at least 1")
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    if len(name) > limit:
        name = name[: limit + 1].rpartition("-")[0]
    return name or "untitled"


def unique(name, taken):
    number = 2
    candidate = name
    while candidate in taken:
        candidate = f"{name}-{number}"
        number += 1
    return candidate
