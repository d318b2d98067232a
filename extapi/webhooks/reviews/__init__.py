"""Reviews, which kube-apiserver sends to webhooks, from bytes to data and back. Pure: no I/O, no clock, no author's code."""
