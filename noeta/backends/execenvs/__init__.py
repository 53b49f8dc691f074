"""Exec envs: one contract, `noeta.core.execenv`."""
