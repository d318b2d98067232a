"""What type checkers say of an author's declarations."""
