"""One tool call: binding, approval gates, execution, result delivery and record."""
