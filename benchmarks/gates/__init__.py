"""What approvals stop, and how many questions they cost: public tasks and attacks, replayed through nbtool."""
