"""Plans in files: the container, what is packed into it, the format, and the digest."""
