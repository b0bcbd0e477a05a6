"""A result of several parts, written out in one text."""

from __future__ import annotations

from typing import Any


class MultipartResult(dict[str, Any]):
    """Named parts, and the text that a model reads of them; `$VAR_REF{{name['part']}}` is one of them itself."""

    def __init__(self, text: str, **parts: Any) -> None:
        super().__init__(parts)
        self.text = text

    def _repr_llm_(self) -> str:
        return self.text
