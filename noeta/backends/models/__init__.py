"""Models: one contract, `noeta.core.model`."""
