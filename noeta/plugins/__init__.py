"""Features: everything that is not the kernel, each on the plugin surface."""
