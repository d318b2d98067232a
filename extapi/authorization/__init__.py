"""Stage 4, may they: attributes of a request, SubjectAccessReview, always-allowed groups and paths (spec B)."""
