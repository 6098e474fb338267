"""InferNode's guide, statement by statement, black box, against a real process; IN-n numbers its statements."""
