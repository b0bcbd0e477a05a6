"""What earlier maps have left of the prompts of a map: no prompt is sent twice, and no call runs twice by itself.

answer_cache.py     the keys of prompts, and which turns of the journal answer them
earlier_turns.py    what an earlier map has left of a prompt, and what is done with it
turn_index.py       the turns of a map in the journal, by the keys of its prompts
own_changes.py      inputs that calls of maps changed
other_inputs.py     calls of earlier maps with other inputs
"""
