"""What touches the private names of ipykernel, and nothing else does."""
