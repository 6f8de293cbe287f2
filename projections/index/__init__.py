"""The episodic index of turns: exact lexical and dense search, signals and their fusion, as of any moment."""
