"""Conversations with both control planes, the built-in one and kube-apiserver, in which they have to answer alike."""
