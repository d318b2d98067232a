"""What keeps the control plane's objects as they should be: controllers as an author writes them, each a loop of its own.

They know the API alone, through the server's own client; another server's resources look to them like ours.
"""
