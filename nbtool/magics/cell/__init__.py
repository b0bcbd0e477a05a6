"""One cell: run its turn, ask for approvals, and hear interrupts."""
