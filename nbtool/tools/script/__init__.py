"""One script that makes many calls."""

from nbtool.tools.script.tool import script_tools

__all__ = ["script_tools"]
