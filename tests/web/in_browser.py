#!/usr/bin/env python3
"""The page from a file, in a browser: it loads, draws, runs, takes keys, clicks, fingers and files, and refuses what is
harmed. Pictures of each step lie in build/web/pictures.

    in_browser.py chromium|firefox|webkit
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback

from checks import check, end
from studio import PAGE, ROOT, Studio

CLI = ROOT / "build/shardlens-cli"
RECORDING = (ROOT / "assets/gallery/layer-megatron.shardlens").read_bytes()
LESSON = "column-then-row"
CARD = 350  # the width of a lesson's card


def shows_the_start(studio):
    studio.open(PAGE)
    check("the first picture, from a file", studio.drawn, studio.refusal())
    ready, drawn = studio.browser.value("[performance.getEntriesByType('navigation')[0].domInteractive, "
                                        "performance.getEntriesByName('first picture')[0].startTime]")
    print(f"        it came {(drawn - ready) / 1000:.2f} s after the bytes were there; 1.5 s are wanted")
    check("a layer has run", studio.until(lambda: studio.run == "done"), studio.run)
    studio.browser.picture(studio.pictures / "start.png")


def takes_keys_and_clicks(studio):
    studio.open(PAGE + "?model=gpt2-tiny&tp=2&view=stage")
    check("a toy's layer equals T = 1", studio.until(lambda: studio.agrees), studio.run)
    studio.browser.press("4")
    check("the key 4 sets T, and again it equals T = 1",
          studio.until(lambda: studio.tp == 4 and studio.run == "done" and studio.agrees), studio.tp)
    studio.browser.picture(studio.pictures / "stage.png")
    studio.click("2")
    check("a click on 2 sets T", studio.until(lambda: studio.tp == 2 and studio.run == "done"), studio.tp)
    studio.command("Show Memory")
    check("the palette opens a tab", studio.until(lambda: studio.view == "memory", 10), studio.view)


def takes_every_letter(studio):
    """Also those of keys that a browser would use itself: they are kept from it, and it tells no letter of them."""
    studio.open(PAGE)
    studio.browser.value("Module.copy = text => { window.copied = text; }")
    studio.until(lambda: studio.run == "done")
    for keys in [("Control", "p"), *"a b/c'd", ("Control", "a"), ("Control", "c")]:
        studio.browser.press(*keys)
        time.sleep(0.2)  # a field that opens has the keyboard from its second frame on
    copied = studio.until(lambda: studio.browser.value("window.copied"), 10)
    check("a space, a slash and a quote are typed", copied == "a b/c'd", copied)


def takes_a_lesson(studio):
    """To its end, with a wrong and then the right answer to every question. The native program tells the right ones, and
    the wrong ones that the author expects."""
    def told(*words):
        return json.loads(subprocess.run([CLI, "lesson", LESSON, *words, "--json"], check=True, capture_output=True,
                                         text=True).stdout)
    lesson = told("--check", "--answers")
    choices = {one["id"]: one.get("choices") for one in told("--questions")["questions"]}
    studio.open(f"{PAGE}?lesson={LESSON}")
    for scene, name in enumerate(one["scene"] for one in lesson["scenes"]):
        studio.until(lambda: studio.scene == scene and studio.settled)
        for one in lesson["answers"]:
            question, kind = one["id"], one["kind"]
            if question.rpartition("/")[0] != name:
                continue
            wrong = "as it stands" if kind == "cut" else one["hints"][0][0]
            right = "Split: megatron" if kind == "cut" else one["accepted"][0][0]
            for answer, is_right in ((wrong, False), (right, True)):
                give(studio, kind, answer, choices[question])
                check(f"{question}: {answer!r} is {'right' if is_right else 'wrong'}",
                      studio.until(lambda: studio.right.get(question) is is_right, 30), studio.right)
        studio.browser.picture(studio.pictures / f"lesson-{scene + 1}.png")
        studio.browser.press("PageDown")
    check("the lesson has come to its end", studio.until(lambda: studio.ended, 20), studio.scene)
    studio.browser.picture(studio.pictures / "lesson-end.png")
    heap = studio.heap()
    check(f"a lesson needs less than 400 MB ({heap:.0f} MB)", heap < 400)


def give(studio, kind, answer, choices):
    """Answers a question of the lesson's card as a person does."""
    time.sleep(0.5)  # a card that has just moved takes no click: it may have been meant for what was there before
    if kind == "choice":
        studio.click("ABCDEFGHI"[choices.index(answer)], CARD, which=-1)  # a scene's text may begin with "A" too
    elif kind == "number":
        studio.browser.press("Control", "a")  # what was typed before
        studio.browser.type(answer.split()[0])
        studio.browser.press("Enter")
    elif kind == "cut":
        if answer.startswith("Split"):
            studio.command(answer)
        studio.click("Mark my cut", CARD)


def opens_what_the_address_names(studio):
    studio.open(PAGE + "?recording=gallery:late-rank")
    check("a recording of the gallery", studio.until(lambda: studio.replays), studio.message)
    studio.open(PAGE + "?model=nothing")
    check("an address that is wrong is refused in words", studio.until(lambda: "nothing" in studio.message, 10),
          studio.message)


def gives_a_link(studio):
    studio.open(PAGE + "?model=gpt2-tiny&tp=2&view=traffic")
    studio.until(lambda: studio.agrees)
    studio.browser.press("4")
    studio.until(lambda: studio.tp == 4 and studio.run == "done")
    studio.browser.value("Module.copy = text => { window.copied = text; }")
    studio.command("Copy link")
    link = studio.until(lambda: studio.browser.value("window.copied"), 10)
    check("a link is copied", link and link.startswith(PAGE), link)
    studio.open(link)
    check("it opens what was shown", studio.until(lambda: studio.tp == 4 and studio.view == "traffic", 20),
          (link, studio.tp, studio.view))


def takes_files(studio):
    studio.open(PAGE + "?model=gpt2-tiny")
    studio.drop("harmed.shardlens", RECORDING[:100_000])
    check("a harmed recording is refused in words", studio.until(lambda: studio.message, 20), studio.message)
    check("and the page stays", studio.replays is False and not studio.refusal(), studio.refusal())
    studio.drop("dropped.shardlens", RECORDING)
    check("a recording that is dropped", studio.until(lambda: studio.replays, 20), studio.message)
    thrown = studio.browser.value("thrown")
    check("nothing was thrown", not thrown, thrown)


def is_one_file(studio):
    with tempfile.TemporaryDirectory() as folder:
        one = pathlib.Path(folder) / "one.html"
        subprocess.run([CLI, "page", "--recording", "gallery:layer-megatron", "--out", one], check=True,
                       stdout=subprocess.DEVNULL)
        studio.open(one.as_uri())
        check("one file with a recording", studio.until(lambda: studio.replays, 20), studio.refusal())
        size = one.stat().st_size / 1e6
        check(f"it is smaller than 6 MB ({size:.2f} MB)", size < 6)


def says_what_is_wrong(studio):
    """What keeps the studio from beginning is said in the page's own letters."""
    text = pathlib.Path(ROOT / "build/shardlens.html").read_text()
    for what, page, words in (
            ("half of a page", text[: len(text) // 2], "load it again"),
            ("no WebGL 2", text.replace("<body>", "<body><script>HTMLCanvasElement.prototype.getContext = () => null;"
                                                  "</script>", 1), "has no WebGL 2")):
        with tempfile.TemporaryDirectory() as folder:
            harmed = pathlib.Path(folder) / "harmed.html"
            harmed.write_text(page)
            studio.open(harmed.as_uri())
            check(f"{what} is said", words in studio.refusal() and not studio.drawn, studio.refusal())


def takes_fingers(studio):
    """On a phone's screen: a tap, one finger that moves the Stage, two that scale it."""
    studio.open(PAGE + "?model=gpt2-tiny&view=stage")
    check("a phone's screen", studio.drawn, studio.refusal())
    studio.until(lambda: studio.run == "done")
    studio.browser.picture(studio.pictures / "phone.png")
    row, step = studio.until(lambda: studio.place("residual sum"), 10), studio.step
    studio.browser.touch([row], hold=1)
    check("a finger that stays does not click", studio.step == step, studio.step)
    studio.browser.touch([row])
    check("a tap selects a step", studio.until(lambda: studio.step != step, 10), studio.step)
    x, y = studio.place("residual sum")
    studio.browser.touch([(x, y), (x, y - 30), (x, y - 60), (x, y - 90)])
    moved = studio.until(lambda: (studio.place("residual sum") or (x, 0))[1] < y - 40, 10)
    check("a finger moves the Stage", moved, (y, studio.place("residual sum")))
    zoom = studio.zoom
    studio.browser.touch([(180, 500), (120, 500), (60, 500)], [(220, 500), (280, 500), (340, 500)])
    check("two fingers scale the Stage", studio.until(lambda: studio.zoom > zoom, 10), studio.zoom)
    studio.browser.picture(studio.pictures / "phone-pinched.png")


CHECKS = [shows_the_start, takes_keys_and_clicks, takes_every_letter, takes_a_lesson, opens_what_the_address_names,
          gives_a_link, takes_files, is_one_file,
          says_what_is_wrong]


def look(engine):
    with Studio(engine, 1280, 720) as studio:
        for what in CHECKS:
            one_by_one(what, studio)
    with Studio(engine, 390, 844, finger=True) as studio:
        one_by_one(takes_fingers, studio)


def one_by_one(what, studio):
    """What goes wrong in one does not keep the others from being looked at."""
    try:
        what(studio)
    except Exception:
        check(what.__name__.replace("_", " "), False, traceback.format_exc())


if __name__ == "__main__":
    look(sys.argv[1])
    end()
