"""Deprecated alias of `nbtool.plugins.continuation`, for code that imports it from here."""

from nbtool.plugins.continuation import Continuation

__all__ = ["Continuation"]
