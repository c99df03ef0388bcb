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

#: Put before the page's own scripts: notes every frame that is long, and when.
WATCH = """<script>
var frames = [], began = performance.now();
const ask = requestAnimationFrame;
requestAnimationFrame = draw => ask(at => { const t = performance.now(); draw(at); frames.push([t, performance.now() - t]); });
new PerformanceObserver(list => { for (const task of list.getEntries()) frames.push([task.startTime, task.duration, 1]); })
  .observe({type: 'longtask'});
</script>"""

#: What is on: its name, what the address names, words for the palette, seconds.
SCENES = [(f"{lesson}, scene {scene}", f"?lesson={lesson}&scene={scene}", [], 10)
          for lesson, last in ((one.stem, one.read_text().count("\n## ")) for one in
                               sorted((ROOT / "assets/lessons").glob("*.md"))) for scene in (1, last)]
SCENES += [("start page", "", [], 10),
           ("gpt2 layer, 1 × 64, T = 4", "?model=gpt2&tp=4&batch=1&seq=64&view=stage", [], 30),
           ("train: gpt2-tiny", "?model=gpt2-tiny&block=model&tp=2&view=train", ["Start training"], 60),
           ("break it: skip-f", "?model=gpt2-tiny&block=model&tp=2", ["Break it: skip-f"], 40),
           ("compare: splits", "?model=gpt2-tiny&tp=2&view=compare", ["Measure the splits side by side"], 30),
           ("compare: sweep T", "?model=gpt2-tiny&tp=2&view=compare", ["Sweep T"], 30),
           ("compare: a recording with a run here", "?recording=gallery:layer-megatron",
            ["Compare the open recording with a run here"], 30),
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
        frames = studio.browser.value("frames.filter(f => f.length === 2).map(f => f[1])")
        tasks = studio.browser.value("frames.filter(f => f.length === 3).map(f => f[1])")
        state = studio.told("shardlens_state")
        long = sorted((f for f in frames if f > 100), reverse=True)
        first = max((t for t in tasks if t not in frames), default=0)
        print(f"{name:45} {max(frames):6.0f} {len(long):5} {len(frames):6} {max(turns)[0]:6} {max(turns)[1]:22} "
              f"{studio.heap():6.0f} {loaded:5.1f}  {state.get('run')} {[round(f) for f in long[:6]]}", flush=True)
        pictures = ROOT / "build/web/pictures/frames"
        pictures.mkdir(parents=True, exist_ok=True)
        studio.browser.picture(pictures / (name.replace(" ", "-").replace("/", "-") + ".png"))


def main():
    print(f"{'':45} {'ms':>6} {'>100':>5} {'frames':>6} {'turn':>6} {'of':22} {'MB':>6} {'open s':>5}")
    with tempfile.TemporaryDirectory() as folder:
        page = pathlib.Path(folder) / "page.html"
        page.write_text((ROOT / "build/shardlens.html").read_text().replace("<body>", "<body>" + WATCH, 1))
        for scene in SCENES:
            if len(sys.argv) < 2 or any(word in scene[0] for word in sys.argv[1:]):
                watched(*scene, page.as_uri())


if __name__ == "__main__":
    main()
