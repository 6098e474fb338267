"""The dashboard: static files, a program of the reader's browser that talks to the API like any other client."""
