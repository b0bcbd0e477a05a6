"""The display form of a turn: events folded into blocks; blocks as patches, HTML and plain text. Pure, without I/O."""
