"""Write a tiny language model with random weights as a GGUF file: `python tiny_model.py FILE`.

It speaks babble, always the same one, in a few hundred kilobytes. Its tokens are characters and single bytes, so
that it can read any text and a grammar can make it write any; its weights keep it to printable characters.

Runs in the environment of the servers, which has `gguf`: see `requirements-servers.lock`.
"""

from __future__ import annotations

import sys

import numpy
from gguf import GGUFWriter, TokenType

SEED = 7
LAYERS = 2
WIDTH = 64
HEADS = 4
HIDDEN = 128
CONTEXT = 16_384

UNKNOWN, BEGIN, END, TURN_BEGIN, TURN_END = "<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"
SPECIAL = {
    UNKNOWN: TokenType.UNKNOWN,
    BEGIN: TokenType.CONTROL,
    END: TokenType.CONTROL,
    TURN_BEGIN: TokenType.CONTROL,
    TURN_END: TokenType.CONTROL,
}
SPACE = "▁"
PRINTABLE = [SPACE if code == 32 else chr(code) for code in range(32, 127)]

_MESSAGES = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}{{ call.function.name }}({{ call.function.arguments }}){% endfor %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEMPLATES = {
    "": "{% for tool in tools or [] %}{{ tool | tojson }}\n{% endfor %}" + _MESSAGES,
    "toolless": "{% if tools %}{{ raise_exception('This model does not support tools.') }}{% endif %}" + _MESSAGES,
}
"""Chat templates by name, the one without a name for whoever asks for no other."""


def write(path: str) -> None:
    """Write the model's file."""
    writer = GGUFWriter(path, "llama")
    tokens = [*SPECIAL, *(f"<0x{byte:02X}>" for byte in range(256)), *PRINTABLE]
    kinds = [*SPECIAL.values(), *[TokenType.BYTE] * 256, *[TokenType.NORMAL] * len(PRINTABLE)]
    _describe(writer, tokens, kinds)
    _fill(writer, favoured=[kind == TokenType.NORMAL for kind in kinds])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: GGUFWriter, tokens: list[str], kinds: list[TokenType]) -> None:
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_block_count(LAYERS)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types(kinds)
    writer.add_bos_token_id(tokens.index(BEGIN))
    writer.add_eos_token_id(tokens.index(END))
    writer.add_unk_token_id(tokens.index(UNKNOWN))
    writer.add_add_space_prefix(False)
    for name, template in TEMPLATES.items():
        writer.add_string(f"tokenizer.chat_template{name and f'.{name}'}", template)


def _fill(writer: GGUFWriter, *, favoured: list[bool]) -> None:
    """Add the weights: noise, but for one channel that all tokens share and that speaks for the favoured ones."""
    noise = numpy.random.default_rng(SEED)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(f"{name}.weight", noise.normal(0, 0.1, shape).astype(numpy.float32))

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", numpy.ones(WIDTH, numpy.float32))

    embedding, output = (noise.normal(0, 1, (len(favoured), WIDTH)).astype(numpy.float32) for _ in "io")
    embedding[:, 0] = 8
    output[:, 0] = numpy.where(favoured, 0, -2)
    writer.add_tensor("token_embd.weight", embedding)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}.{name}", WIDTH, WIDTH)
        add_norm(f"{block}.ffn_norm")
        add(f"{block}.ffn_gate", HIDDEN, WIDTH)
        add(f"{block}.ffn_up", HIDDEN, WIDTH)
        add(f"{block}.ffn_down", WIDTH, HIDDEN)
    add_norm("output_norm")
    writer.add_tensor("output.weight", output)


if __name__ == "__main__":
    write(sys.argv[1])
