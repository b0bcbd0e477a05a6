"""The commands of `%chat …`, grouped by what they are about."""
