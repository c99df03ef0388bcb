#!/usr/bin/env python3
"""The page from a file, in headless Chromium: it loads, draws, runs, takes keys and files, and refuses what is harmed.

Pictures of each step lie in build/web/pictures.
"""
import base64
import json
import pathlib
import subprocess
import tempfile

from checks import check, end
from chromium import Chromium

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "build/shardlens.html"
PICTURES = ROOT / "build/web/pictures"
PICTURES.mkdir(parents=True, exist_ok=True)


def state(browser):
    """What the studio shows, as the page tells it; empty until it has drawn."""
    text = browser.value("typeof shardlens_state === 'function' ? shardlens_state() : ''")
    return json.loads(text) if text else {}


def opened(browser, address):
    browser.open(address)
    return browser.until(lambda: state(browser).get("drawn"))


def words(browser):
    return browser.value("document.getElementById('words').hidden ? '' : document.getElementById('words').innerText")


with Chromium(1280, 720) as browser:
    check("the first picture, from a file", opened(browser, PAGE.as_uri()), words(browser))
    check("a layer has run", browser.until(lambda: state(browser).get("run") == "done"), state(browser))
    browser.picture(PICTURES / "start.png")

    opened(browser, PAGE.as_uri() + "?model=gpt2-tiny&tp=2&view=stage")
    check("a toy's equals T = 1", browser.until(lambda: state(browser).get("agrees")), state(browser))
    browser.press("4", "Digit4", 52)
    check("the key 4 sets T", browser.until(lambda: state(browser).get("tp") == 4 and state(browser)["run"] == "done"),
          state(browser))
    browser.picture(PICTURES / "stage.png")

    opened(browser, PAGE.as_uri() + "?lesson=column-then-row")
    browser.until(lambda: state(browser).get("run") == "done" and state(browser).get("scene") == 0)
    browser.type("7")
    browser.press("Enter", "Enter", 13)
    check("a wrong answer is not taken", not browser.until(lambda: state(browser).get("answered"), 5), state(browser))
    browser.press("Backspace", "Backspace", 8)
    browser.type("768")
    browser.press("Enter", "Enter", 13)
    check("a right one is", browser.until(lambda: state(browser).get("answered") == 1, 20), state(browser))
    browser.picture(PICTURES / "lesson.png")
    for scene in range(1, 7):
        browser.press("PageDown", "PageDown", 34)
        browser.until(lambda: state(browser).get("scene") == scene, 20)
    check("its last scene", state(browser).get("scene") == 6, state(browser))

    opened(browser, PAGE.as_uri() + "?recording=gallery:late-rank")
    check("a recording of the gallery", browser.until(lambda: state(browser).get("replays")), state(browser))

    opened(browser, PAGE.as_uri() + "?model=nothing")
    check("an address that is wrong is refused in words", browser.until(lambda: "nothing" in (words(browser) or "")),
          words(browser))

    with tempfile.TemporaryDirectory() as folder:
        one = pathlib.Path(folder) / "one.html"
        subprocess.run([ROOT / "build/shardlens-cli", "page", "--recording", "gallery:layer-megatron", "--out", one],
                       check=True, stdout=subprocess.DEVNULL)
        opened(browser, one.as_uri())
        check("one file with a recording", browser.until(lambda: state(browser).get("replays")), state(browser))
        size = one.stat().st_size / 1e6
        check(f"it is smaller than 6 MB ({size:.2f} MB)", size < 6)
        harmed = pathlib.Path(folder) / "harmed.html"
        text = one.read_text()
        harmed.write_text(text[: len(text) // 2])
        browser.open(harmed.as_uri())
        check("half of a page says so", browser.until(lambda: "load it again" in (words(browser) or ""), 20),
              words(browser))

        opened(browser, PAGE.as_uri() + "?model=gpt2-tiny")
        recording = (ROOT / "assets/gallery/layer-megatron.shardlens").read_bytes()
        for bytes_, holds, what in ((recording[:100_000], False, "a harmed recording is refused, and the page stays"),
                                    (recording, True, "a recording that is dropped")):
            browser.value("(() => { const bytes = Uint8Array.from(atob('" + base64.b64encode(bytes_).decode() +
                          "'), one => one.charCodeAt(0)); const to = new DataTransfer(); to.items.add(new File([bytes], "
                          "'dropped.shardlens')); dispatchEvent(new DragEvent('drop', {dataTransfer: to})); })()")
            seen = browser.until(lambda: bool(state(browser).get("replays")) == holds and
                                 (holds or state(browser).get("message")), 20)
            check(what, seen, state(browser))
    check("nothing was thrown", not browser.thrown, browser.thrown[:2])

with Chromium(390, 844, touch=True) as browser:
    check("on a phone's screen", opened(browser, PAGE.as_uri() + "?model=gpt2-tiny&view=stage"), words(browser))
    browser.picture(PICTURES / "phone.png")

end(f"; pictures in {PICTURES.relative_to(ROOT)}")
