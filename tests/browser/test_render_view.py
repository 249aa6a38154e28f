"""The rasteriser draws what WebGL draws: the same outline and nearly the same colours."""

import base64

import numpy as np

import kinetree as kt
from kinetree.views import report_page
from kinetree.views.page.stage import stage_of
from kinetree.views.studio import studio

PIXELS = """() => {
  window.kinetree.viewer.draw();
  const canvas = document.getElementById("view"), gl = canvas.getContext("webgl");
  const pixels = new Uint8Array(4 * canvas.width * canvas.height);
  gl.readPixels(0, 0, canvas.width, canvas.height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
  let text = "";
  for (let k = 0; k < pixels.length; k += 8192)
    text += String.fromCharCode(...pixels.subarray(k, k + 8192));
  return [canvas.width, canvas.height, btoa(text)];
}"""


def edges(inside):
    """Pixels at an outline: some neighbour is on the other side."""
    found = np.zeros_like(inside)
    for axis in (0, 1):
        differs = np.diff(inside.astype(int), axis=axis) != 0
        found |= np.pad(differs, [(0, 1) if k == axis else (0, 0) for k in (0, 1)])
        found |= np.pad(differs, [(1, 0) if k == axis else (0, 0) for k in (0, 1)])
    return found


def test_the_picture_is_that_of_the_page(tmp_path, open_page):
    robot = kt.robots.panda()
    path = tmp_path / "page.html"
    path.write_text(report_page(robot, samples=50), encoding="utf-8")
    width, height, data = open_page(path.as_uri()).evaluate(PIXELS)
    page = (
        np.frombuffer(base64.b64decode(data), np.uint8).reshape(height, width, 4)[::-1].astype(int)
    )
    stage = stage_of(robot)
    place = studio(
        robot.model, stage.scene, stage.parts, stage.q[None], shown=stage.scene.shown,
        size=(width, height), theme="light", camera=stage.camera, zoom=1.0,
    )  # fmt: skip
    ours = place.frame(stage.q, 3, transparent=True).astype(int)
    # lines of the page's floor are less than half opaque
    theirs, mine = page[..., 3] > 127, ours[..., 3] > 127
    assert mine.sum() > 5000
    outline = edges(mine)
    different = theirs != mine
    assert not (different & ~outline & ~edges(theirs)).any()  # at most one pixel aside
    assert different.sum() < 0.1 * outline.sum()
    both = theirs & mine & ~outline
    far = np.abs(page[both][:, :3] - ours[both][:, :3]).max(axis=1)
    assert np.median(far) <= 1 and (far > 12).mean() < 0.03  # inner edges are smoothed otherwise
