"""What is wrong with an expression, in cel-go's words.

cel-go's parser is made by ANTLR, whose messages come from what its automaton expects and how it recovers. This package is
that automaton, small and slow: it runs only on expressions that the parser has refused.
"""
