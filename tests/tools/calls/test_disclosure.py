from __future__ import annotations

from nbtool.errors import ToolFailed
from nbtool.tools import tool
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.calls.disclosure import may_leak
from nbtool.tools.tool import as_tools
from nbtool.tools.variables.store import Variables


def test_an_error_after_its_object_is_gone_counts_as_one_that_may_quote_it() -> None:
    variables = Variables({"secret": "hunter2"})
    variables.expose("secret", readable=True)
    actual = tool(lambda text: text, name="told", run="auto")
    bound = bind(as_tools(actual)[0], {"text": "$VAR_REF{{secret}}"}, variables)
    error = ValueError("hunter2 is no number")

    assert not may_leak(error, bound, variables)
    variables.unexpose("secret")
    assert may_leak(error, bound, variables)
    assert not may_leak(ToolFailed("hunter2 is no number"), bound, variables)
    assert not may_leak(None, bound, variables)
