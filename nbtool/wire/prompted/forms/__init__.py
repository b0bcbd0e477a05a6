"""The forms in which models write calls: what looks like one, and what certainly is one."""
