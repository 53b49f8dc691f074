"""Adapters: the kernel's contracts on real stores, models and machines."""
