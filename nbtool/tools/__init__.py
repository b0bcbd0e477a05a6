"""Tools: Python functions with a schema, an approval policy and references to variables."""

from nbtool.tools.approval import Approved, Denied, Policy, Released, Withheld
from nbtool.tools.tool import Progress, Tool, tool
from nbtool.tools.toolset import Toolset

__all__ = ["Approved", "Denied", "Policy", "Progress", "Released", "Tool", "Toolset", "Withheld", "tool"]
