"""The command line: each module parses, calls the library and prints."""
