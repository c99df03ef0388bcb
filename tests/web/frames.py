#!/usr/bin/env python3
"""How long the page's frames are in Chromium while something is on: a table, by hand. A frame is one call of the page's
drawing, with the turns of the workers in it (engine/base/README.md), so what else the machine does counts little.

    frames.py [WORD...]      only what has one of the words in its name: heads, train, gpt2
"""
import pathlib
import subprocess
import sys
import tempfile
import time

from studio import PAGE, ROOT, Studio

#: Put before the page's own scripts: notes how long every frame takes, and how much of it is WebGL's, which a graphics
#: card would do beside it.
WATCH = """<script>
var frames = [], drawing = 0;
const ask = requestAnimationFrame;
requestAnimationFrame = draw => ask(at => {
  const began = performance.now();
  drawing = 0;
  draw(at);
  frames.push([performance.now() - began - drawing, drawing]);
});
for (const name of Object.getOwnPropertyNames(WebGL2RenderingContext.prototype)) {
  const what = Object.getOwnPropertyDescriptor(WebGL2RenderingContext.prototype, name);
  if (typeof what.value !== 'function') continue;
  WebGL2RenderingContext.prototype[name] = function (...words) {
    const began = performance.now();
    try { return what.value.apply(this, words); } finally { drawing += performance.now() - began; }
  };
}
</script>"""

#: What is on: its name, what the address names, words for the palette, seconds.
SCENES = [(f"{lesson}, scene {scene}", f"?lesson={lesson}&scene={scene}", [], 7)
          for lesson, last in ((one.stem, one.read_text().count("\n## ")) for one in
                               sorted((ROOT / "assets/lessons").glob("*.md"))) for scene in (1, last)]
SCENES += [("start page", "", [], 10),
           ("gpt2 layer, 1 × 64, T = 4", "?model=gpt2&tp=4&batch=1&seq=64&view=stage", [], 20),
           ("train: gpt2-tiny", "?model=gpt2-tiny&block=model&tp=2&view=train", ["Start training"], 45),
           ("break it: skip-f", "?model=gpt2-tiny&block=model&tp=2", ["Break it: skip-f"], 25),
           ("compare: splits", "?model=gpt2-tiny&tp=2&view=compare", ["Measure the splits side by side"], 20),
           ("compare: sweep T", "?model=gpt2-tiny&tp=2&view=compare", ["Sweep T"], 20),
           ("compare: a recording with a run here", "?recording=gallery:late-rank",
            ["Compare the open recording with a run here"], 20),
           ("recording", "?recording=gallery:late-rank", [], 10)]


def watched(name, address, words, seconds, page):
    with Studio("chromium", 1280, 720) as studio:
        begun = time.time()
        studio.open(page + address)
        turns = []
        loaded = time.time() - begun
        for one in words:
            time.sleep(3)
            studio.browser.press("Control", "p")
            studio.browser.type(one)
            studio.browser.press("Enter")
        end = time.time() + seconds
        while time.time() < end:
            turn = studio.longest_turn or {}
            turns.append((round(turn.get("ms", 0)), turn.get("of", "")))
            time.sleep(0.3)
        frames, drawing = zip(*studio.browser.value("frames"))
        long = sorted((one for one in frames if one > 100), reverse=True)
        print(f"{name:45} {max(frames):6.0f} {len(long):5} {len(frames):6} {max(drawing):8.0f} {max(turns)[0]:6} "
              f"{max(turns)[1]:22} {studio.heap():6.0f} {loaded:5.1f}  {[round(one) for one in long[:8]]}", flush=True)
        pictures = ROOT / "build/web/pictures/frames"
        pictures.mkdir(parents=True, exist_ok=True)
        studio.browser.picture(pictures / (name.replace(" ", "-").replace("/", "-") + ".png"))


def main():
    print(f"{'longest frame without drawing, how many, …':45} {'ms':>6} {'>100':>5} {'frames':>6} {'drawing':>8} {'turn':>6} {'of':22} {'MB':>6} {'open s':>5}")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text((ROOT / "build/shardlens.html").read_text().replace("<body>", "<body>" + WATCH, 1))
        for scene in SCENES:
            if len(sys.argv) < 2 or any(word in scene[0] for word in sys.argv[1:]):
                watched(*scene, page.as_uri())


if __name__ == "__main__":
    main()
