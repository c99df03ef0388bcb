"""The studio in a browser, as tests see it: what it shows, where its controls are, what a person does with them."""
import base64
import json
import pathlib
import time

from browsers import ENGINES

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "build/shardlens.html").as_uri()


class Studio:
    def __init__(self, engine, width, height, finger=False):
        self.browser = ENGINES[engine](width, height, finger)
        self.pictures = ROOT / "build/web/pictures" / engine
        self.pictures.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

    def told(self, what):
        """What one of the page's functions tells (app/web/main.cpp); nothing before it has drawn."""
        text = self.browser.value(f"typeof {what} === 'function' ? {what}() : ''")
        return json.loads(text) if text else {}

    def __getattr__(self, what):
        """One thing of the page's state."""
        return self.told("shardlens_state").get(what)

    def refusal(self):
        """What the page says in the studio's place."""
        return self.browser.value("document.getElementById('words').hidden ? '' : "
                                  "document.getElementById('words').innerText")

    def open(self, address):
        self.browser.open(address)
        self.browser.value("(window.thrown = [], addEventListener('error', e => thrown.push(e.message)), "
                           "addEventListener('unhandledrejection', e => thrown.push('' + e.reason)))")
        self.until(lambda: self.drawn or "loading" not in self.refusal())

    def until(self, holds, seconds=60):
        """Waits until `holds()` is true; returns its last value."""
        end = time.time() + seconds
        while not (found := holds()) and time.time() < end:
            time.sleep(0.1)
        return found

    def place(self, text, left_of=10_000, which=0):
        """Where this line of text stands, the first one of several or another; None: nowhere."""
        found = [(x, y) for line, x, y in self.told("shardlens_words") if line == text and x < left_of]
        return found[which] if found else None

    def click(self, text, left_of=10_000, which=0):
        """Clicks on this line of text."""
        at = self.until(lambda: self.place(text, left_of, which), 10)
        if at is None:
            raise LookupError(f"nothing on the screen says {text!r}")
        self.browser.click(at[0] + 2, at[1])

    def command(self, title):
        """Asks the palette for a command."""
        self.browser.press("Control", "p")
        self.browser.type(title)
        self.browser.press("Enter")

    def drop(self, name, data):
        """Drops a file on the page."""
        self.browser.value("(() => { const bytes = Uint8Array.from(atob('" + base64.b64encode(data).decode() +
                           "'), one => one.charCodeAt(0)); const to = new DataTransfer(); to.items.add(new File([bytes],"
                           f" '{name}')); dispatchEvent(new DragEvent('drop', {{dataTransfer: to}})); }})()")

    def heap(self):
        """The memory of the program in the page, in MB."""
        return self.browser.value("Module.HEAPU8.length") / 1e6
