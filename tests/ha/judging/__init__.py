"""The judge of what clients of the checker were told: pure, and tested with histories that are made up."""
