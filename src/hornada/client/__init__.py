"""What a program or the command line calls to talk to a batch server."""
