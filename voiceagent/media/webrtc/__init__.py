"""The WebRTC peer of a call, its guards and its sockets."""
