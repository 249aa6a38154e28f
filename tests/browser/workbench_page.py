"""A page of the workbench, operated like by a user: tabs, sliders, buttons."""

import re

from kinetree.views.workbench.state import external_wrenches

# Part of the viewer that the workbench never uses (its point clouds) asks for eval; it is refused.
HARMLESS = ("Evaluating a string as JavaScript violates",)


class WorkbenchPage:
    """The page of a running workbench."""

    def __init__(self, browser, workbench):
        self.workbench, self.bench = workbench, workbench.bench
        self.faults = []
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("console", lambda x: self._note(x.text) if x.type == "error" else None)
        self.page.on("request", lambda request: self._asked(request.url))
        self.own = (workbench.address, "data:", "blob:")
        self.page.goto(workbench.address)
        self.page.get_by_text("Joint forces").wait_for(timeout=60_000)
        self._without_note()

    def _without_note(self):
        """The note that pixels are drawn without a graphics card covers the scene."""
        note = self.page.locator(".mantine-Notification-root", has_text="Software WebGL")
        if self.until(lambda: note.count() > 0, seconds=5):  # none where there is a card
            note.locator("button").first.click()
            note.wait_for(state="detached")

    def _note(self, text):
        if not text.startswith(HARMLESS):
            self.faults.append(text)

    def _asked(self, url):
        if not url.startswith(self.own):
            self.faults.append(f"request: {url}")

    def tab(self, name):
        self.page.get_by_role("tab", name=name, exact=True).click()

    def press(self, name):
        self.page.get_by_role("button", name=name, exact=True).click()

    def set_slider(self, label, value):
        """Type a value into the box beside a slider."""
        row = self.page.locator("label:visible", has_text=re.compile(f"^{re.escape(label)}$")).first
        box = row.locator("xpath=ancestor::*[.//input[@type='text']][1]").locator(
            "input[type=text]"
        )
        box.first.fill(str(value))
        box.first.press("Enter")

    def values(self, key):
        """Numbers of the readings in full precision, by key."""
        script = (
            "key => Object.fromEntries([...document.querySelectorAll(`[data-${key}]`)].map("
            "x => [x.getAttribute(`data-${key}`), parseFloat(x.dataset.value)]))"
        )
        return self.page.evaluate(script, key)

    def until(self, true, seconds=60):
        """Wait until a function returns True; the page runs on meanwhile.

        A panel that is brought up to date by another thread is seen half-way: what several values
        must agree on is asked for here, not after it.
        """
        for _ in range(int(seconds / 0.05)):
            if true():
                return True
            self.page.wait_for_timeout(50)
        return bool(true())

    def shows_tau(self):
        """Return True if the joint forces on the page equal those of the state, bit by bit."""
        state = self.bench.state
        tau = state.robot.inverse_dynamics(state.q, state.dq, state.ddq, external_wrenches(state))
        return self.values("tau") == {str(i): float(x) for i, x in enumerate(tau)}

    def shot(self, path):
        """A picture of the page at rest: the scene is drawn some frames after its messages."""
        before = None
        for _ in range(20):
            self.page.wait_for_timeout(300)
            picture = self.page.screenshot(path=path)
            if picture == before:
                return
            before = picture

    def drawn(self, path):
        """Colours of the scene at rest, between the panels and below notes; means of 8 x 8 pixels.

        Single pixels depend on how edges were smoothed.
        """
        from matplotlib.image import imread

        self.shot(path)
        return imread(path)[200:, 420:900, :3].reshape(75, 8, 60, 8, 3).mean(axis=(1, 3))

    def put(self, robot, **options):
        """Open another robot in its position of rest."""
        from kinetree.views.workbench.view import open_robot

        self.bench.state = self.bench.state.replace(push=None, **options)
        open_robot(self.bench, robot, None, [])
        assert self.until(self.shows_tau)
        self.tab("Forces")
        self.tab("Joints")

    def close(self):
        self.context.close()
