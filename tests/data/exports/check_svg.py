# Reads a figure with an XML parser and prints its contents as one JSON object. An AssertionError says what would look
# wrong: text outside the page, text over text, a font that is used but not embedded.
#
#   check_svg.py FIGURE.svg
import base64
import json
import re
import sys
import xml.etree.ElementTree as ElementTree

SVG = "{http://www.w3.org/2000/svg}"
root = ElementTree.parse(sys.argv[1]).getroot()
assert root.tag == SVG + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
assert root.get("viewBox") == f"0 0 {root.get('width')} {root.get('height')}"

embedded = set()
for family, weight, style, face in re.findall(
        r"@font-face\{font-family:(\w+);font-weight:(\d+);font-style:(\w+);src:url\(data:font/ttf;base64,([^)]*)\)",
        root.find(f"{SVG}defs/{SVG}style").text):
    assert base64.b64decode(face, validate=True)[:4] in (b"\0\1\0\0", b"true", b"OTTO"), family
    embedded.add((family, weight, style))

clips = {clip.get("id"): clip[0] for clip in root.iter(SVG + "clipPath")}


def cut(element, box):
    reference = element.get("clip-path")
    if reference is None:
        return box
    rect = clips[re.fullmatch(r"url\(#(\w+)\)", reference).group(1)]
    x, y, w, h = (float(rect.get(k)) for k in ("x", "y", "width", "height"))
    return max(box[0], x), max(box[1], y), min(box[2], x + w), min(box[3], y + h)


texts, boxes = [], []
for text in root.iter(SVG + "text"):
    words = "".join(text.itertext())
    left, right, top, bottom = [], [], [], []
    for span in text:
        face = (span.get("font-family").split(",")[0], span.get("font-weight", "400"), span.get("font-style", "normal"))
        assert face in embedded, f"{face} of \"{words}\" is not embedded"
        size = float(span.get("font-size"))
        left.append(float(span.get("x")))
        right.append(left[-1] + float(span.get("textLength")))
        top.append(float(span.get("y")) - 0.72 * size)  # capitals
        bottom.append(float(span.get("y")))
    box = cut(text, (min(left), min(top), max(right), max(bottom)))
    assert -0.5 <= box[0] and box[2] <= width + 0.5 and 0 <= box[1] and box[3] <= height, f"\"{words}\" leaves the page"
    texts.append(words)
    boxes.append((box, words))
overlaps = []
for i, (a, words) in enumerate(boxes):
    for b, others in boxes[i + 1:]:
        across = min(a[2], b[2]) - max(a[0], b[0])
        down = min(a[3], b[3]) - max(a[1], b[1])
        if across > 1 and down > 1:
            overlaps.append(f"\"{words}\" lies over \"{others}\"")
assert not overlaps, overlaps[:5]

for rect in root.iter(SVG + "rect"):
    assert float(rect.get("width")) >= 0 and float(rect.get("height")) >= 0, ElementTree.tostring(rect)

images = 0
for image in root.iter(SVG + "image"):
    data = image.get("{http://www.w3.org/1999/xlink}href")
    assert data.startswith("data:image/png;base64,")
    assert base64.b64decode(data.split(",", 1)[1], validate=True)[:8] == b"\x89PNG\r\n\x1a\n"
    assert "pixelated" in image.get("style")
    images += 1

print(json.dumps({"width": width, "height": height, "texts": texts, "images": images, "faces": len(embedded),
                  "rectangles": len(list(root.iter(SVG + "rect"))), "ground": root.find(SVG + "rect").get("fill"),
                  "ranks": sorted(t for t in texts if re.fullmatch(r"rank \d+", t))}))
