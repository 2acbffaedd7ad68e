"""Words written as pinyin, wholly or in part: 安全 -> anquan, 讨厌 -> 讨yan, as people do to be quick or to get past a filter."""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.letters import initials, reserved
from crt.perturbations.phrases import Phrase, by_phrase
from crt.resources import load_table


def pinyin() -> SiteFinder:
    """Find the words and short phrases that can be read for certain, or a character of them.

    The options of a phrase are each word spelt, each character spelt from the last one on, several words, and last the
    initials of a word, if they mean nothing else. A syllable of one letter is no pinyin to the eye.
    """
    kept = reserved(load_table("letters"))

    def spelt(phrase: Phrase) -> tuple[str, ...]:
        count = len(phrase.words)
        words, runs = phrase.spans()[:count], phrase.spans()[count:]
        characters = [(at, at + 1) for at in reversed(range(len(phrase.text)))]
        options = [
            phrase.put(new, first, last)
            for first, last in (*words, *characters, *runs)
            if all(phrase.syllables[first:last]) and len(new := "".join(phrase.syllables[first:last])) > 1
        ]
        for first, last in words:
            if last - first > 1 and (new := initials(phrase, first, last)) and new not in kept:
                options.append(phrase.put(new, first, last))
        return tuple(dict.fromkeys(options))

    return by_phrase(spelt)
