"""Surface cues of texts and pairs, which models follow in place of the meaning."""

import re

NEGATION = re.compile("[不没勿]|[并绝]非|[从尚]未|未[曾必能]|[毫并]无|无法|别[再去说动]")
"""What negates a Chinese sentence; not 非常, 特别, 未来."""


def letters(text: str) -> str:
    """Return the letters, digits and Han characters of a text, in lower case."""
    return "".join(character for character in text.lower() if character.isalnum())


def overlap(premise: str, hypothesis: str) -> float:
    """Return the size of the intersection of the character sets of two texts by that of their union; case is ignored."""
    one, other = set(letters(premise)), set(letters(hypothesis))
    return len(one & other) / max(len(one | other), 1)
