"""When the server database gives up a session of which nothing is heard, so that nobody waits for what it holds."""

KEEPALIVE = {
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "11000",
}
"""A session whose machine is gone ends after 11 s; by itself the server would keep it, and its locks, for two hours."""
WRITE_MS = 10_000
"""After so long without a word in the middle of a write, it is undone: its process was stopped while it held rows."""
