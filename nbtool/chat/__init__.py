"""Conversations with history; a package listed later imports those before it, never the other way round.

journal/        every event on disk             rerun/      operations on turns that exist
model/          the model and its endpoint      export/     Python, Markdown, JSON, notebooks
turn/           one turn                        recording/  replay of recorded turns
conversation/   the tree of turns, restored     batch/      many independent prompts

chat.py              the public `Chat`                  turn_run.py    the run of a turn
chat_base.py         what a chat is, and is built from  event_sink.py  to the journal, then to the listeners
turn_composition.py  from a prompt to a turn            erasure.py     of a chat, also of an open one
batch_builder.py     `Chat.map`: a batch from a chat
"""
