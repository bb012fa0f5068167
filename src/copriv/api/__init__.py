"""The verbs of `import copriv`, one file each."""
