"""A script that makes many tool calls."""

from nbtool.tools.script.tool import script_tools

__all__ = ["script_tools"]
