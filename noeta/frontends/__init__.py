"""Front ends: they know the client and nothing behind it."""
