"""A dialect that nbtool does not have: what somebody writes who adds one."""
