"""The only code that uses private names of ipykernel."""
