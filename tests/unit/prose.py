# SPDX-License-Identifier: Apache-2.0
"""Finds long sentences and unwanted words in a Markdown page.

A block of code and an address are not prose. Each heading, list item and cell of a table ends a
sentence. A piece of inline code is one word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 25
# Words that this project does not use, each with the words to write instead.
UNWANTED = {
    r"leav(?:e|es|ing)\b(?! out)|left\b(?! out)": "remove, removal, remaining",
    r"switch(?:ed|es|ing)? off": "remove column mapping",
    r"own names?\b": "readable name, or: the physical name equals the logical name",
    r"names? in (?:the )?files?": "physical name",
    r"copy speed|copied bytes": "byte copy",
    r"of before|from before": "stale, earlier",
    r"overt(?:ake|aken|akes|ook)": "conflict",
    r"tells?|told|is there|are there": "reports, exists",
    r"gone|stays?": "deleted, is kept, is unchanged",
    r"for nothing|costs? nothing": "metadata only, without overhead",
    r"torn|sneak\w*": "truncated",
    r"whatever|whoever|wherever|thereby|the former|the latter": "the thing's name",
    r"simply|easily|fast|quick(?:er|ly)?|just": "a number, or nothing",
    r"be (?:it|they)\b|so (?:says|does|is)\b": "subject, verb, object",
    r"nobody|somebody": "the thing's name, or passive",
    r"^(?:who|what) [^,]+, (?:which|spark|delta)|that is says": "a noun as the subject",
}
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
CODE = re.compile(r"(`+).+?\1")
END = re.compile(r"(?<=[.!?:;])(?=\s|$)|·")


def sentences(page: str) -> Iterator[str]:
    """Yields the sentences of a page, with `x` for inline code."""
    text = LINK.sub(r"\1", CODE.sub("x", FENCE.sub("", page)))
    paragraph: list[str] = []
    for line in [*text.splitlines(), ""]:
        is_new = re.match(r" *(?:[-*] |\d+\. |#|\||$)", line)
        if is_new and paragraph:
            yield from _split(" ".join(paragraph))
            paragraph = []
        if line.startswith("|"):
            for cell in line.strip("|").split("|"):
                yield from _split(cell)
        elif line.startswith("#"):
            yield from _split(line.lstrip("# "))
        elif line.strip():
            paragraph.append(re.sub(r"^ *(?:[-*] |\d+\. )?", "", line))


def _split(text: str) -> Iterator[str]:
    bare = text.replace("*", "").strip()
    yield from filter(None, (part.strip() for part in END.split(bare)))


def objections(page: str) -> list[str]:
    """Returns the corrections for a page."""
    found = []
    for sentence in sentences(page):
        words = [word for word in sentence.split() if re.search(r"\w", word)]
        if len(words) > LONGEST:
            found.append(f"{len(words)} words: {sentence}")
        for unwanted, better in UNWANTED.items():
            if match := re.search(rf"\b(?:{unwanted})\b", sentence, re.IGNORECASE):
                found.append(f"`{match[0]}` ({better}): {sentence}")
    return found
