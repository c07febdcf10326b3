"""The language model of the profile `starter`, measured on requests that are written out."""
