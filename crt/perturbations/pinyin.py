"""Words written as pinyin, wholly or in part: 安全 -> anquan, aq, 讨厌 -> 讨yan, as people do to be quick or to get past a filter."""

from crt.perturbations.engine import SiteFinder
from crt.perturbations.phrases import Phrase, by_phrase


def pinyin() -> SiteFinder:
    """Find the words and short phrases that can be read for certain, or a character of them.

    The options of a phrase are each word spelt, its initials, each character spelt from the last one on, then several words.
    """
    return by_phrase(_spelt)


def _spelt(phrase: Phrase) -> tuple[str, ...]:
    count = len(phrase.words)
    options = []
    for first, last in phrase.spans()[:count]:
        heard = phrase.syllables[first:last]
        if all(heard):
            options.append(phrase.put("".join(heard), first, last))
            options += [phrase.put("".join(syllable[0] for syllable in heard), first, last)] * (last - first > 1)
    for at in reversed(range(len(phrase.text))):
        if phrase.syllables[at]:
            options.append(phrase.put(phrase.syllables[at], at, at + 1))
    for first, last in phrase.spans()[count:]:
        if all(phrase.syllables[first:last]):
            options.append(phrase.put("".join(phrase.syllables[first:last]), first, last))
    return tuple(dict.fromkeys(options))
