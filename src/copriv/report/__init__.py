"""What people look at: the figures of a run, its folder, its table, its picture."""
