"""Whether an expression is right: types, overloads, literals, and what in it is constant."""
