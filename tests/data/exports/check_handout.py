# Reads a handout for the web with an HTML parser and prints its contents as one JSON object. An AssertionError says
# what would break it: an element that is not closed, anything that is fetched, a name that is used twice.
#
#   check_handout.py HANDOUT.html
import html.parser
import json
import re
import sys

VOID = {"meta", "input", "img", "br", "link"}
FETCHING = {"src", "href", "srcset", "poster", "action", "formaction", "data", "xlink:href"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.uses, self.rules = [], [], [], None
        self.questions, self.answers, self.headings, self.scripts, self.styles = [], {}, [], [], []
        self.text = []

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        for name, value in attributes:
            assert not name.startswith("on"), f"{name} on <{tag}>"
            assert tag not in ("rect", "use") or not value.startswith("-") or name in ("x", "y"), f"{name}={value}"
            if name in FETCHING:
                assert value.startswith(("data:image/png;base64,", "#")), f"{name}={value[:60]}"
        if "id" in a:
            self.ids.append(a["id"])
        if tag == "use":
            self.uses.append(a["href"][1:])
        if tag == "form":
            self.questions.append({"id": a["data-id"], "kind": a["data-kind"], "ask": "", "choices": []})
        if tag == "input" and a.get("type") == "radio":
            self.questions[-1]["choices"].append(a["value"])
        if tag == "button" and "data-item" in a:
            self.questions[-1]["choices"].append(a["data-item"])
        if "data-rules" in a:
            self.rules = json.loads(a["data-rules"])
        if a.get("class") == "answer":
            self.answers[a["id"]] = {"key": json.loads(a.get("data-key", "null")), "right": "", "because": ""}
        if tag not in VOID:
            self.open.append((tag, a))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"</{tag}> ends {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data):
        inside = [a.get("class") for _, a in self.open]
        tag = self.open[-1][0] if self.open else ""
        if tag == "script":
            self.scripts.append(data)
        elif tag == "style":
            self.styles.append(data)
        else:
            self.text.append(data)
        if "number" in inside:
            return
        if "ask" in inside:
            self.questions[-1]["ask"] += data
        for part in ("right", "because"):
            if part in inside:
                self.answers[list(self.answers)[-1]][part] += data
        if tag == "h2":
            self.headings.append(data.strip())


page = open(sys.argv[1], encoding="utf-8").read()
reader = Reader()
reader.feed(page)
reader.close()
assert not reader.open, reader.open
assert len(set(reader.ids)) == len(reader.ids), "a name is used twice"
assert set(reader.uses) <= set(reader.ids), "a picture is not there"
fetched = [url for url in re.findall(r"url\(([^)]{0,80})", page) if not url.startswith(("data:font/ttf;base64,", "#"))]
assert not fetched, fetched
assert not re.findall(r"https?:", page), re.findall(r"https?:.{0,60}", page)
assert len(reader.scripts) == 1 and "@import" not in page

for question in reader.questions:
    question["ask"] = question["ask"].strip()
print(json.dumps({"questions": reader.questions, "answers": reader.answers, "headings": reader.headings,
                  "rules": reader.rules, "text": " ".join(" ".join(reader.text).split()), "ids": reader.ids, "uses": len(reader.uses),
                  "faces": len(re.findall("@font-face", page)), "bytes": len(page)}))
