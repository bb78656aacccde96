"""What a command prints to people."""

import re

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
