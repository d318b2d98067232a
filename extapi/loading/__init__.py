"""``MODULE:NAME``: loading an author's API, and telling the author what is wrong with the code."""
