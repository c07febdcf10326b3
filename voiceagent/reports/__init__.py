"""Reports of measured turns."""
