"""Elements that follow the state."""

from typing import Any


class Shown:
    """An element of the page that follows the state, but is not pulled back from under a hand.

    A hand may move it on while a state that knows nothing of that is still being drawn. Both
    methods are called while the state cannot change.
    """

    def __init__(self, element: Any) -> None:
        self.element, self.known = element, element.value

    def taken(self) -> Any:
        """What a hand has set."""
        self.known = self.element.value
        return self.known

    def follow(self, value: Any) -> None:
        """Stand at a value, where the state has another than the one known."""
        if value != self.known:
            self.known = value
            self.element.value = value
