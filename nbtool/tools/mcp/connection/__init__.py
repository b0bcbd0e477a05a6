"""The connection with a server: its sessions, the HTTP transport, the login, and what is reported of a failure."""
