"""Tables in, matrices out: reading, encoding, the public dictionary, partition into owners, and generators."""
