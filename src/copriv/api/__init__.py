"""The verbs of `import copriv`, one file each. The command line calls the same ones."""
