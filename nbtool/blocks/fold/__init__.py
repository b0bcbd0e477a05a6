"""Events folded into the blocks of a turn, and the patches that change them."""
