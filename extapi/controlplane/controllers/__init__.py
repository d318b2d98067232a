"""The control plane's controllers, written as an author writes them.

They know only the API, through the server's own client: another server's resources look the same as ours.
"""
