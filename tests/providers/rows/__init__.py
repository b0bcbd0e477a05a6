"""The behaviours of providers, by who shows them."""
