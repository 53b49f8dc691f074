"""The command line: arguments are parsed here, and the work is done behind `host`."""
