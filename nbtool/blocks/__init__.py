"""What can be shown: events folded into blocks, and the blocks as patches, HTML and plain text. Pure, without I/O."""
