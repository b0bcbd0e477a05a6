"""What was made of a value is cached as long as the value."""

from __future__ import annotations

import gc
import weakref

from nbtool.messages import Message, user
from nbtool.wire.form_cache import FormCache


def test_a_message_that_no_longer_exists_is_forgotten_and_a_new_form_of_it_is_not() -> None:
    cache: FormCache[Message, str, str] = FormCache()
    message = user("Hi")
    forms = [cache.get_or_make(message, key, lambda _, key=key: key.upper()) for key in ("a", "a", "b")]
    place, known = next(iter(cache._forms.items()))
    cache._remove(place, weakref.ref(user("another")))

    assert forms == ["A", "A", "B"]
    assert cache._forms == {place: known}
    del message
    gc.collect()
    assert cache._forms == {}


def test_a_value_that_is_its_own_form_is_made_once_and_ends_too() -> None:
    cache: FormCache[Message, None, Message] = FormCache()
    message, made = user("Hi"), []

    def make(value: Message) -> Message:
        made.append(value.text)
        return value

    assert cache.get_or_make(message, None, make) is message
    assert cache.get_or_make(message, None, make) is message
    assert made == ["Hi"]
    del message
    gc.collect()
    assert cache._forms == {}
