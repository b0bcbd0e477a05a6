"""From the id of a model to its endpoint: connect, adapt to what a server refuses, and price its replies."""
