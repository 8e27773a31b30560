"""A door: the library of runs on this machine, and exports of them."""
