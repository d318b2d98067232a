"""What commands that run to an end have in common: the reactor, what an operator sees meanwhile, and how they fail.

Must not know what the commands do.
"""
