"""The telephone: vendors' media streams, SIP through a gateway, and the features of a call on a telephone. It stands above
`server` and `call`; the composition root mounts it."""
