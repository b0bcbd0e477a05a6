"""The policy of the system's administrator: what users can tighten, and cannot loosen.

A file `policy.toml` in the system's configuration folder is read once in a process (`site`) and checked (`rules`).
Every rule is enforced at the one place that nothing can go around: where an address is opened, a call is approved, a
value becomes text for a model, a server starts. `python -m nbtool.policy FILE` checks a file and says what it means.
"""

from nbtool.policy.site import SitePolicy, apply_sent_files, register_own_server, site_policy

__all__ = ["SitePolicy", "apply_sent_files", "register_own_server", "site_policy"]
