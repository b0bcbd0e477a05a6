"""What was written down about AgentDojo's tools by hand: what they affect, and whose texts they return."""

from __future__ import annotations

WEB_REQUESTS = frozenset(("get_webpage",))
"""Tools that only read, and send their argument off the machine."""

DESTINATIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "send_email": (("recipients",), ("cc", "bcc")),
    "delete_email": (("email_id",), ()),
    "create_calendar_event": (("title",), ("participants",)),
    "cancel_calendar_event": (("event_id",), ()),
    "reschedule_calendar_event": (("event_id",), ()),
    "add_calendar_event_participants": (("event_id", "participants"), ()),
    "append_to_file": (("file_id",), ()),
    "create_file": (("filename",), ()),
    "delete_file": (("file_id",), ()),
    "share_file": (("file_id", "email"), ()),
    "reserve_hotel": (("hotel",), ()),
    "reserve_car_rental": (("company",), ()),
    "reserve_restaurant": (("restaurant",), ()),
    "send_money": (("recipient",), ()),
    "schedule_transaction": (("recipient",), ()),
    "update_scheduled_transaction": (("id",), ("recipient",)),
    "update_password": (("password",), ()),
    "update_user_info": ((), ("first_name", "last_name", "street", "city")),
    "add_user_to_channel": (("user", "channel"), ()),
    "send_direct_message": (("recipient",), ()),
    "send_channel_message": (("channel",), ()),
    "invite_user_to_slack": (("user", "user_email"), ()),
    "remove_user_from_slack": (("user",), ()),
    "get_webpage": (("url",), ()),
    "post_webpage": (("url",), ()),
}
"""The tools that change something, and those of `WEB_REQUESTS`: which arguments say who or what is affected, and which
of these may be missing."""

EFFECTS = frozenset(DESTINATIONS)

OWN_RESULTS = frozenset((
    "get_current_day", "get_iban", "get_balance", "get_user_info", "get_user_information", "send_email", "delete_email",
    "create_calendar_event", "create_file", "reserve_hotel", "reserve_car_rental", "reserve_restaurant", "send_money",
    "schedule_transaction", "update_password", "update_user_info", "add_user_to_channel", "send_direct_message",
    "send_channel_message", "invite_user_to_slack", "remove_user_from_slack", "post_webpage",
))  # fmt: skip
"""The tools whose results quote nobody but the user."""
