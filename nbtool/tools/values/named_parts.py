"""A result of several named parts."""

from __future__ import annotations

from typing import Any


class MultipartResult(dict[str, Any]):
    """Named parts, and their text for the model; `$VAR_REF{{name['part']}}` is one of the parts."""

    def __init__(self, text: str, **parts: Any) -> None:
        super().__init__(parts)
        self.text = text

    def _repr_llm_(self) -> str:
        return self.text
