"""Model servers: send, stream, gauge; each call ends in a Reply or a Failure."""
