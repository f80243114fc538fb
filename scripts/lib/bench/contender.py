"""A gateway that is measured."""

# The gateway has one core; the upstream and the clients share the other.
GATEWAY_CORE, OTHER_CORE = 0, 1


class Contender:
    """A server that is measured, with the samples of each measure."""

    def __init__(self, name, url, token, model, process=None, headers=()):
        self.name = name
        self.url = f"{url}/v1/chat/completions"
        self.token = token
        self.model = model
        self.process = process
        self.headers = headers
        self.samples = {}

    def note(self, measure, value):
        self.samples.setdefault(measure, []).append(value)
