"""Stage 4: may the user do this? Authorizers decide: fixed groups and paths, then SubjectAccessReview (behaviour B)."""
