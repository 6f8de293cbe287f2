"""How good recall is: metrics, baselines, data with labelled evidence, and the fitting of the ranking's weights."""
