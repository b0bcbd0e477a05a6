"""One call: bind, gate, run, deliver, gate, record."""
