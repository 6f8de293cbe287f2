"""Who writes, reads and works: the actors as plain classes, and their ports. That they may run on Ray is not known here."""
