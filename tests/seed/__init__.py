"""The two guides, statement by statement, black box, against a real process; IN-n are InferNode's, NV-n Novita's."""
