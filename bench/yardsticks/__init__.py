"""What the figures are held against: the least that a program must do for the same work."""
