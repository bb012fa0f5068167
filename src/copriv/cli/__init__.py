"""The command line: one file a command. Everything heavy is imported where it is used, so that help is instant."""
