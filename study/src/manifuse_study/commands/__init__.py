"""The commands of the study, which the command line of manifuse finds by entry points."""
