from __future__ import annotations

import pytest

from nbtool.blocks.argument_targets import resolved_shapes
from nbtool.blocks.confusables import escape_confusables
from nbtool.blocks.question import effect_text, summarize_call
from tests.resolved import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/p\u0430ul", "/home/p\\u{0430}ul"),
        ("\u0420AYPAL", "\\u{0420}AYPAL"),
        ("df_\u0441lean", "df_\\u{0441}lean"),
        ("\u041f\u0440\u0438vet", "\\u{041f}\\u{0440}\\u{0438}vet"),
        ("\u0391pple", "\\u{0391}pple"),
        ("rm \u0441\u043e\u0440 file", "rm \\u{0441}\\u{043e}\\u{0440} file"),
        ("\uff41bc", "\\u{ff41}bc"),
        ("\U0001d400dmin", "\\u{1d400}dmin"),
        ("na\u0457ve \u00e9", "na\\u{0457}ve \u00e9"),
    ],
)
def test_letters_that_look_like_others_are_written_as_escapes(text: str, shown: str) -> None:
    assert escape_confusables(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "\u041f\u0440\u0438\u0432\u0435\u0442, world",
        "\u0440\u043e\u0441 \u0438 \u0440\u043e\u0441\u0442, a word",
        "\u0394t = \u03c3_x\u00b7\u03bb2",
        "\u65e5\u672c\u8a9e\u30c6\u30ad\u30b9\u30c8ABC",
        "na\u00efve caf\u00e9 \u00c6r\u00f8sk\u00f8bing",
        "\u0441\u043e\u0440",
        "",
    ],
)
def test_what_people_write_stays_as_it_is(text: str) -> None:
    assert escape_confusables(text) == text


def test_the_sentence_and_the_effect_hide_no_letter() -> None:
    said = summarize_call("s\u0430ve", '{"path": "\u0441lean.py"}', resolved_shapes({"path": plain('"\u0441lean.py"')}))

    assert said == 'Run s\\u{0430}ve(path="\\u{0441}lean.py")?'
    assert effect_text("-a\n+\u0430b\u202e\n") == "What will change:\n-a\n+\\u{0430}b\\u{202e}"
    assert effect_text(" \n") == ""
