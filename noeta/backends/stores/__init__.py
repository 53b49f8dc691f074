"""Stores: one contract, `noeta.core.store`."""
