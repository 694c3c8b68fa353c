"""How samples travel: a packing is a file or a folder here and one line of the register."""
