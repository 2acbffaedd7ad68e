"""Was a text attacked, and how: the labelled texts, their features, and what is trained on them (TCAB)."""
