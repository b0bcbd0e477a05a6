"""The model of a chat, and the endpoint that its turns use."""

from nbtool.chat.model.model import Model

__all__ = ["Model"]
