"""The settings of one turn."""

from __future__ import annotations

from dataclasses import dataclass

from nbtool.argument_check import check_arguments
from nbtool.chain.limits import Limits
from nbtool.chat.prompt_context import HistoryMode
from nbtool.chat.recording.recorder import ReplayMode
from nbtool.chat.rerun.operations import TurnOperation


@check_arguments
@dataclass(frozen=True, slots=True)
class TurnSettings:
    """The settings of one turn; None uses the setting of the chat.

    `cell_id` is the cell of the prompt: running it again adds a version to its turn, unless `append`. An `operation`
    works on an existing turn; to repeat its prompt, pass "". `replay` is the replay mode; see `Chat.record`.
    `recipient` is who receives results of calls, if it is not the model. `is_model_named`: the person names the model
    for this turn, so that its host may get the history. `typed` is what of the prompt a person typed, for policies of
    tools; None means all of a text, and "" nothing. With `keep_answers` the answer is kept for the notebooks of this
    folder, and a kept one is replayed if the inputs are unchanged and the cell was not executed in this kernel yet.
    """

    cell_id: str = ""
    append: bool = False
    stream: bool = True
    limits: Limits | None = None
    history: HistoryMode | None = None
    operation: TurnOperation | None = None
    replay: ReplayMode | None = None
    check_results: bool | None = None
    search_tools: bool | None = None
    recipient: str = ""
    is_model_named: bool = False
    typed: str | None = None
    keep_answers: bool = False
