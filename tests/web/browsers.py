"""Drives a browser by W3C WebDriver: opens a page, presses keys, clicks, touches, waits, takes pictures.

The commands are the same in every engine. Only how they travel is the engine's own: `chromium` and `webkit` have a
driver that takes them by HTTP, `firefox` listens itself (Marionette, a JSON message behind its length). All three draw
with the processor, because a machine that tests has no graphics card.
"""
import base64
import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

KEYS = {"Tab": "\ue004", "Enter": "\ue006", "Backspace": "\ue003", "Escape": "\ue00c", "Space": " ",
        "PageUp": "\ue00e", "PageDown": "\ue00f", "Down": "\ue015", "Control": "\ue009", "Shift": "\ue008"}
#: How a command travels by HTTP. All are sent with POST, but for those that begin with GET or DELETE.
PATHS = {"Navigate": "url", "ExecuteAsyncScript": "execute/async", "PerformActions": "actions",
         "ReleaseActions": "DELETE actions", "TakeScreenshot": "GET screenshot", "SetWindowRect": "window/rect",
         "SwitchToFrame": "frame", "SetTimeouts": "timeouts", "DeleteSession": "DELETE "}


# Who is told to end closes its browsers first.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))


class Refused(Exception):
    """The browser does not do what it was asked for."""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def when_it_listens(port, process, seconds=60):
    end = time.time() + seconds
    while time.time() < end and process.poll() is None:
        with contextlib.suppress(OSError):
            return socket.create_connection(("127.0.0.1", port), timeout=300)
        time.sleep(0.1)
    raise Refused(f"{process.args[0]} does not listen")


class ByHttp:
    def __init__(self, port, process, wanted):
        when_it_listens(port, process).close()
        self.at = f"http://127.0.0.1:{port}/session"
        answer = self._send("POST", "", {"capabilities": {"alwaysMatch": wanted}})
        self.at += "/" + answer["sessionId"]

    def _send(self, method, path, body):
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(f"{self.at}/{path}".rstrip("/"), data, {"Content-Type": "application/json"},
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Refused(json.load(error)["value"]["message"]) from None

    def __call__(self, command, body):
        method, _, path = PATHS[command].rpartition(" ")
        return self._send(method or "POST", path, body)


class ByMarionette:
    def __init__(self, port, process, wanted):
        self.stream = when_it_listens(port, process).makefile("rwb")
        self._read()  # its greeting
        self.asked = 0
        self("NewSession", wanted)

    def _read(self):
        length = b""
        while not length.endswith(b":"):
            length += self.stream.read(1)
        return json.loads(self.stream.read(int(length[:-1])))

    def __call__(self, command, body):
        self.asked += 1
        message = json.dumps([0, self.asked, "WebDriver:" + command, body]).encode()
        self.stream.write(b"%d:%s" % (len(message), message))
        self.stream.flush()
        _, _, error, answer = self._read()
        if error:
            raise Refused(error["message"])
        return answer["value"] if isinstance(answer, dict) and set(answer) == {"value"} else answer


class Browser:
    """One session; `with` ends it. `finger` makes it a touch device; a mouse it has always."""
    framed = False

    def __init__(self, width, height, finger=False):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="shardlens-web-"))
        self.processes = []
        self.width, self.height, self.finger = width, height, finger
        try:
            self.command = self.begin()
            self.command("SetTimeouts", {"script": 120_000, "pageLoad": 120_000})
            self.fit()
        except BaseException:
            self.close()
            raise

    def run(self, *words, **environment):
        """Begins a program that ends with the session."""
        with open(self.folder / f"{pathlib.Path(words[0]).name}.log", "wb") as log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True,
                                                   env={**os.environ, **environment}))
        return self.processes[-1]

    def screen(self):
        """A screen of its own, drawn by the processor, as settings for a program."""
        number = 90 + os.getpid() % 400
        self.run("Xvfb", f":{number}", "-screen", "0", "2000x1400x24", "-nolisten", "tcp")
        return {"DISPLAY": f":{number}", "LIBGL_ALWAYS_SOFTWARE": "1", "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1",
                "HOME": str(self.folder)}

    def close(self):
        if hasattr(self, "command"):
            with contextlib.suppress(Refused, OSError):
                self.command("DeleteSession", {})
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def fit(self):
        """Makes the page width × height. A window narrower than its own bars cannot be: there open() uses a frame."""
        for _ in range(3):
            outer, inner = self.value("[[outerWidth, outerHeight], [innerWidth, innerHeight]]")
            if inner == [self.width, self.height]:
                return
            self.command("SetWindowRect", {"width": outer[0] + self.width - inner[0],
                                           "height": outer[1] + self.height - inner[1]})
            time.sleep(0.5)
        self.framed = True

    def value(self, expression):
        """What an expression is in the page; a promise is waited for."""
        answer = self.command("ExecuteAsyncScript", {"args": [], "script": f"""const tell = arguments[0];
            (async () => ({expression}))().then(value => tell({{value}}), error => tell({{error: '' + error}}));"""})
        if "error" in answer:
            raise Refused(answer["error"])
        return answer.get("value")

    def open(self, address):
        if not self.framed:
            return self.command("Navigate", {"url": address})
        frame = self.folder / "frame.html"
        frame.write_text(f'<!doctype html><body style="margin: 0"><iframe src="{address}" style="display: block; border: 0; '
                         f'width: {self.width}px; height: {self.height}px"></iframe>')
        self.command("Navigate", {"url": frame.as_uri()})
        self.command("SwitchToFrame", {"id": 0})

    def perform(self, *sources):
        self.command("PerformActions", {"actions": list(sources)})

    def press(self, *keys):
        """Holds all but the last of these keys, and presses the last."""
        keys = [KEYS.get(key, key) for key in keys]
        self.keys([("Down", key) for key in keys] + [("Up", key) for key in reversed(keys)])

    def type(self, text):
        self.keys([(way, letter) for letter in text for way in ("Down", "Up")])

    def keys(self, steps):
        pause = {"type": "pause", "duration": 60}  # a frame sees each
        self.perform({"type": "key", "id": "keys", "actions": sum(([{"type": "key" + way, "value": key}, pause]
                                                                   for way, key in steps), [])})

    def pointer(self, kind, *steps, name="one"):
        """A pointer of this kind does the steps: (x, y) goes there, "down", "up", a number waits so many seconds."""
        actions = []
        for step in steps:
            if isinstance(step, tuple):
                actions.append({"type": "pointerMove", "x": round(step[0]), "y": round(step[1]), "duration": 100})
            elif isinstance(step, str):
                actions.append({"type": "pointer" + step.title(), "button": 0})
            else:
                actions.append({"type": "pause", "duration": round(step * 1000)})
        return {"type": "pointer", "id": kind + name, "parameters": {"pointerType": kind}, "actions": actions}

    def click(self, x, y):
        self.perform(self.pointer("mouse", (x, y), 0.1, "down", 0.1, "up", 0.1))

    def touch(self, *fingers, hold=0.1):
        """Each finger is put down at its first point, held, moved along the others and lifted."""
        self.perform(*(self.pointer("touch", points[0], "down", hold, *points[1:], "up", name=str(number))
                       for number, points in enumerate(fingers)))

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.command("TakeScreenshot", {})))


class Chromium(Browser):
    def begin(self):
        port = free_port()
        driver = self.run("chromedriver", f"--port={port}")
        options = {"args": ["--headless=new", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader",
                            "--enable-unsafe-swiftshader", "--hide-scrollbars", f"--user-data-dir={self.folder}/user"]}
        if self.finger:
            options["mobileEmulation"] = {"deviceMetrics": {"width": self.width, "height": self.height, "pixelRatio": 1,
                                                            "touch": True}}
        return ByHttp(port, driver, {"goog:chromeOptions": options})


    def fit(self):
        if not self.finger:  # a touch device is as large as was asked for
            super().fit()


class Firefox(Browser):
    def begin(self):
        port = free_port()
        settings = {"marionette.port": port, "dom.w3c_touch_events.enabled": int(self.finger),
                    "webgl.force-enabled": True, "dom.disable_beforeunload": True}
        (self.folder / "user.js").write_text("".join(f"user_pref({json.dumps(name)}, {json.dumps(value)});\n"
                                                     for name, value in settings.items()))
        firefox = self.run("firefox-esr", "--marionette", "--no-remote", "--profile", str(self.folder), **self.screen())
        return ByMarionette(port, firefox, {})


class Webkit(Browser):
    def begin(self):
        port = free_port()
        driver = self.run("WebKitWebDriver", f"--port={port}", **self.screen())
        return ByHttp(port, driver, {})

    def touch(self, *fingers, hold=0.1):
        """Its WebDriver makes a mouse of every finger, so a script gives the page its events."""
        self.value("""(async () => {
            const fingers = %s, page = document.getElementById('canvas');
            const send = (kind, at) => {
                const touches = fingers.map((points, identifier) => {
                    const [x, y] = points[at];
                    return {identifier, target: page, clientX: x, clientY: y, pageX: x, pageY: y, screenX: x, screenY: y};
                });
                const held = kind === 'touchend' ? [] : touches;
                page.dispatchEvent(Object.assign(new Event(kind, {bubbles: true, cancelable: true}),
                                                 {touches: held, targetTouches: held, changedTouches: touches}));
            };
            const wait = ms => new Promise(done => setTimeout(done, ms)), last = fingers[0].length - 1;
            send('touchstart', 0);
            await wait(%d);
            for (let at = 1; at <= last; at++) { send('touchmove', at); await wait(100); }
            send('touchend', last);
            await wait(100);
        })()""" % (json.dumps(fingers), hold * 1000))


ENGINES = {"chromium": Chromium, "firefox": Firefox, "webkit": Webkit}
