"""What a command prints to people, and what the page of bad input says of it."""

import re
from functools import cache
from pathlib import Path

#: A line that says what was read, before the work starts.
READ = re.compile(
    r"\w+: [\d,]+ (rows?(, \d+ classes)?, (no features|[\d,]+ features?( \(.*\))?)"
    r"|labelled rows?(, \d+ class(es)?)?|ordered pairs?)"
)


def sentence_of(printed: str) -> str:
    """Return the sentence that a command ended with; before it there may be what was read, and nothing else."""
    read, start, rest = printed.partition("manifuse: ")
    assert all(READ.fullmatch(line) for line in read.splitlines()), read
    return " ".join((start + rest).split())


@cache
def rows_of_page():
    """What came, the exit status and what is said, of every row of the page for readers."""
    page = (Path(__file__).parents[1] / "docs" / "bad-input.md").read_text()
    return re.findall(r"^\| (.+?) \| ([0-9]+) \| `?(.*?)`? \|$", page, re.MULTILINE)


def sentence_on_page(name):
    """What the page for readers says of a case, as a pattern; dots there stand for what they leave out."""
    sentence = next(sentence for case, _, sentence in rows_of_page() if case == name)
    return re.escape(" ".join(sentence.replace("\\|", "|").split())).replace(r"\.\.\.", ".*")
