"""The telephone: vendors' media streams, SIP through a gateway, and what a call on a telephone has besides. It stands above
`server` and `call`; the composition root mounts it."""
