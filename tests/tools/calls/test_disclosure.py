from __future__ import annotations

from nbtool.errors import ToolFailed
from nbtool.tools import tool
from nbtool.tools.calls.bound_call import bind
from nbtool.tools.calls.disclosure import UnreadableValues, may_leak
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


def test_that_a_value_is_none_is_no_secret_because_its_type_says_so() -> None:
    variables = Variables({"nothing": None, "word": "hunter2"})
    for name in ("nothing", "word"):
        variables.expose(name)
    actual = as_tools(tool(lambda text: text, name="told", run="auto"))[0]
    nothing, word = (
        UnreadableValues(bind(actual, {"text": f"$VAR_REF{{{{{name}}}}}"}, variables), variables)
        for name in ("nothing", "word")
    )

    assert not nothing.is_in_text("None is no number")
    assert word.is_in_text("hunter2 is no number")
