"""A noeta in a process: settings, the client, and the assembly of all parts."""
