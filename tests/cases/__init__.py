"""108 inputs and the outcomes that a batch server may give them."""
