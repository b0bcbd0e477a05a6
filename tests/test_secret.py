from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from nbtool import Chat
from nbtool.secret import HIDDEN, Secret, SecretValue
from nbtool.wire.transport.request.expiring_keys import check_key

KEY = "sk-do-not-show"


@dataclass
class Holder:
    key: Secret


class Model(BaseModel):
    key: Secret


@pytest.mark.parametrize(
    "text",
    [str(Secret(KEY)), repr(Secret(KEY)), f"{Secret(KEY)}", f"{[Secret(KEY)]}", repr(Holder(Secret(KEY)))],
)
def test_no_text_of_it_shows_it(text: str) -> None:
    assert KEY not in text
    assert HIDDEN in text


def test_an_empty_one_is_false_and_shows_that_it_is_empty() -> None:
    assert not Secret("")
    assert str(Secret("")) == ""
    assert Secret(KEY)


def test_it_is_equal_by_its_text_and_to_no_text() -> None:
    assert Secret(KEY) == Secret(KEY)
    assert hash(Secret(KEY)) == hash(Secret(KEY))
    assert Secret(KEY) != Secret("other")
    assert Secret(KEY) != KEY
    assert copy.deepcopy(Secret(KEY)) == pickle.loads(pickle.dumps(Secret(KEY))) == Secret(KEY)


def test_a_model_of_pydantic_reads_it_from_a_text_and_writes_what_hides_it() -> None:
    model = Model.model_validate({"key": KEY})

    assert model.key == Secret(KEY)
    assert model == Model(key=Secret(KEY))
    assert json.loads(model.model_dump_json()) == {"key": HIDDEN}
    with pytest.raises(ValidationError):
        Model.model_validate({"key": 7})


def test_a_secret_of_pydantic_is_taken_as_a_key() -> None:
    assert isinstance(SecretStr(KEY), SecretValue)
    assert check_key(SecretStr(f" {KEY}\n")) == Secret(KEY)
    assert check_key(SecretStr(" ")) is None
    assert Chat("openai:gpt-4.1-mini", api_key=SecretStr(KEY)).model.api_key == Secret(KEY)
