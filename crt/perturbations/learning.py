"""A table learnt from pairs: which words people write otherwise, and how, the most frequent way first."""

from collections import Counter
from collections.abc import Iterable

from crt import randomness
from crt.perturbations.alignment import Segment, segments
from crt.perturbations.text import words

LONGEST = 4
"""Code points of a key; what is longer was written anew rather than disguised."""

HELD_OUT = 0.2
"""Share of the originals that a table is tried on."""


def learn(pairs: Iterable[tuple[str, str]], minimum: int) -> dict[str, dict[str, int]]:
    """Return the options of each key with their counts, both in the order of their counts.

    A key is a word of the segmentation, or several that were changed together; and a character that alone was replaced in
    several words: 性 in 同性恋 and in 性别.

    Args:
        pairs: originals, each with the text as somebody wrote it.
        minimum: of the count of an option.
    """
    counts: dict[str, Counter[str]] = {}
    seen_in: dict[str, set[str]] = {}
    for original, written in pairs:
        for key, option, word in set(_changes(original, written)):
            counts.setdefault(key, Counter())[option] += 1
            seen_in.setdefault(key, set()).add(word)
    known = {key for key, seen in seen_in.items() if key in seen or len(seen) > 1}
    often = {key: _in_order({o: n for o, n in counts[key].items() if n >= minimum}) for key in known}
    return dict(sorted(((k, o) for k, o in often.items() if o), key=lambda item: (-sum(item[1].values()), item[0])))


def _in_order(options: dict[str, int]) -> dict[str, int]:
    return dict(sorted(options.items(), key=lambda item: (-item[1], item[0])))


def _changes(original: str, written: str) -> list[tuple[str, str, str]]:
    """Return the keys that a pair changes, each with what was written and the words that it stands in."""
    found = []
    for start, end, inside in _whole_words(original, segments(original, written)):
        first, last = inside[0], inside[-1]
        word = original[start:end]
        option = written[first.written_start - (first.start - start) : last.written_end + (end - last.end)]
        found.append((word, option, word))
        if len(inside) == 1 and first.end - first.start == 1 < end - start:
            found.append((original[first.start : first.end], written[first.written_start : first.written_end], word))
    return [one for one in found if len(one[0]) <= LONGEST and one[1].strip() and one[0] != one[1]]


def _whole_words(original: str, changed: Iterable[Segment]) -> list[tuple[int, int, list[Segment]]]:
    """Return the words that the changed segments touch, those that share a segment as one; start, end, and the segments.

    What is put in between two words touches neither.
    """
    spans = words(original)
    found: list[tuple[int, int, list[Segment]]] = []
    for segment in changed:
        touched = [(a, b) for a, b in spans if a < max(segment.end, segment.start + 1) and b > segment.start]
        if not touched or segment.start == segment.end == touched[0][0]:
            continue
        start, end = touched[0][0], touched[-1][1]
        if found and found[-1][1] > start:
            begin, _, inside = found.pop()
            found.append((begin, end, [*inside, segment]))
        else:
            found.append((start, end, [segment]))
    return found


def is_held_out(original: str) -> bool:
    """Tell whether a table is tried on an original, and not learnt from it: a function of the text alone."""
    return bool(randomness.uniforms(randomness.base("learn", original), 0) < HELD_OUT)
