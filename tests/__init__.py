"""A package, so that it is found before others of this name: IPython 7 puts one of its own on the path."""
