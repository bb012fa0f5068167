"""The owner: holds records, answers queries under its own guarantee, keeps the account of what it has spent."""
