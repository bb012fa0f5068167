"""The least a Flower client can do: send back as many numbers as it was sent. No records, no noise, no ledger."""

from flwr.app import Context, Message
from flwr.clientapp import ClientApp

app = ClientApp()


@app.query()
def answer(message: Message, _context: Context) -> Message:
    """Echo."""
    return Message(message.content, reply_to=message)
