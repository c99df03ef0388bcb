"""Drives a headless Chromium by its DevTools protocol: opens a page, presses keys, clicks, waits, takes pictures."""
import base64
import json
import shutil
import subprocess
import tempfile
import threading
import time
import urllib.request

import websocket


class Chromium:
    def __init__(self, width, height, touch=False):
        self.folder = tempfile.mkdtemp(prefix="shardlens-chromium-")
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu-sandbox", "--use-gl=angle",
             "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--remote-debugging-port=0",
             f"--user-data-dir={self.folder}", "--remote-allow-origins=*", "--hide-scrollbars", "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        port = next(line.split("ws://")[1].split("/")[0].rsplit(":", 1)[1]
                    for line in self.process.stderr if "DevTools listening on" in line)
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
        pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{port}/json"))
        address = next(page["webSocketDebuggerUrl"] for page in pages if page["type"] == "page")
        self.socket = websocket.create_connection(address, timeout=120)
        self.said, self.thrown, self.asked = [], [], 0
        for room in ("Runtime", "Page"):
            self.call(room + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)

    def close(self):
        self.socket.close()
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _hear(self, message):
        if message.get("method") == "Runtime.consoleAPICalled":
            self.said.append(" ".join(str(one.get("value", "")) for one in message["params"]["args"]))
        if message.get("method") == "Runtime.exceptionThrown":
            self.thrown.append(json.dumps(message["params"]["exceptionDetails"])[:500])

    def call(self, method, **parameters):
        self.asked += 1
        mine = self.asked
        self.socket.send(json.dumps({"id": mine, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == mine:
                return message.get("result", message)
            self._hear(message)

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        return answer.get("result", {}).get("value")

    def open(self, address):
        self.said, self.thrown = [], []
        self.call("Page.navigate", url=address)

    def until(self, holds, seconds=60):
        """Waits until `holds()` is true; returns its last value."""
        end = time.time() + seconds
        while True:
            found = holds()
            if found or time.time() > end:
                return found
            time.sleep(0.2)

    def press(self, key, code, number, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=code, windowsVirtualKeyCode=number,
                      modifiers=modifiers)
            time.sleep(0.2)

    def type(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="keyDown", key=letter, text=letter,
                      windowsVirtualKeyCode=ord(letter.upper()), code="Digit" + letter if letter.isdigit() else "")
            self.call("Input.dispatchKeyEvent", type="keyUp", key=letter)
            time.sleep(0.1)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            time.sleep(0.2)

    def picture(self, path):
        answer = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))
