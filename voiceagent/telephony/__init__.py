"""Everything that only telephones need: the vendors' dialects, their webhooks and signatures, keypads."""
