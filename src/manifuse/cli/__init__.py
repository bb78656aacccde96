"""The command line."""

#: The exit status of a program that an interrupt (ctrl-C) ended, by the custom of shells, and what it says. They are
#: here because they are needed before anything else can be imported.
INTERRUPTED, STOPPED = 130, "manifuse: Stopped; no unfinished file was written."
