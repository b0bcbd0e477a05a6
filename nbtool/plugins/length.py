"""The former place of `nbtool.plugins.continuation`, kept for code that imports it from here."""

from nbtool.plugins.continuation import Continuation

__all__ = ["Continuation"]
