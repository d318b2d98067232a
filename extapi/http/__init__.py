"""HTTP as all stages see it: requests, responses, and what streams write to. Pure data; no sockets."""
