"""Access to a server: keys, client secrets, origins."""
