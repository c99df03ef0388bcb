#!/usr/bin/env python3
"""Fails where code outside the planner asks the name or the symbol of a tensor or a step what it is. That is its
role, its part and its layer (engine/program/role.h): names and symbols are for the eye and for files.

A search in the text knows no types. So every comparison of a .name or .symbol must be one of these: of something else
than a tensor or a step (OTHERS), or of a name that a person or a file has given, which is looked up (LOOKED_UP).

    names.py ROOT
"""
import pathlib
import re
import sys

#: What has a name too, by what holds it: a model, a split, a device.
OTHERS = re.compile(r"(?:.*[.>])?(hardware|model|gpu|split|file|preset|facts|experiment|theme|inks|communicator|metric|"
                    r"operation|device|lesson_|lesson|form|options|Split\(\)|devices\[i\]|experiments\[i\]|"
                    r"curves\[i\]|curve)")

#: File, and what is looked up there.
LOOKED_UP = {
    "engine/program/shown_name.cpp": "letters that a person reads",
    "engine/lesson/functions.cpp": "a word that a lesson may use",
    "engine/lesson/functions_of_models.cpp": "a part of the memory wall",
    "engine/program/operation.cpp": "an operation's word in a file",
    "ui/lesson/scene_of_view.cpp": "a view's name",
    "ui/panels/memory/memory_figures.cpp": "a device's name",
    "ui/panels/traffic/traffic.cpp": "a device's or a split's name",
    "ui/settings/difference.cpp": "a split's name",
    "engine/lesson/read_scene.cpp": "an experiment's name in a lesson",
    "engine/lesson/run_keys.cpp": "a key of a scene",
    "engine/lesson/said_value.cpp": "a unit in an answer",
    "engine/record/gallery.cpp": "a recording's name",
    "engine/lesson/arguments.cpp": "a name in a lesson",
    "engine/lesson/answer_key.cpp": "a name in a lesson",
    "engine/lesson/functions_of_plans.cpp": "a name in a lesson",
    "engine/lesson/program_words.cpp": "words that a lesson may say",
    "engine/laboratory/by_hand.cpp": "a tensor of the example by hand",
    "engine/train/experiments/break_report.cpp": "the same tensor of another plan",
    "engine/train/experiments/diff_session.cpp": "a metric's name",
    "engine/runtime/stored_weights.cpp": "the names in a checkpoint",
    "ui/view_state.cpp": "the selected step of another plan",
    "ui/panels/recordings/recordings_rows.cpp": "a step or metric of another recording",
    "ui/panels/recordings/recordings_parts.cpp": "a step or metric of another recording",
    "ui/panels/program/by_hand_runs.cpp": "a tensor of the example by hand",
    "ui/panels/break_it/break_strip.cpp": "the same tensor of another plan",
    "app/studio/options.cpp": "a name on the command line",
    "app/cli/diff.cpp": "a metric's name",
    "engine/config/splits.cpp": "a split's name",
}

#: `x.name == …`, `… == x.name`, `x->symbol.find(…)` and so on.
ASKS = re.compile(
    r"([\w.\[\]()>*-]+?)(?:\.|->)(?:name|symbol)\s*(?:==|!=|\.(?:find|rfind|starts_with|ends_with|compare|contains)\()"
    r"|(?:==|!=)\s*([\w.\[\]()>*-]+?)(?:\.|->)(?:name|symbol)\b(?!\()")


def comparisons(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for found in ASKS.finditer(line.split("//")[0]):
            yield number, (found[1] or found[2]).lstrip("(!*"), line.strip()


def main():
    root = pathlib.Path(sys.argv[1])
    bad, seen = [], set()
    for path in sorted(root.glob("engine/**/*.[ch]*")) + sorted(root.glob("ui/**/*.[ch]*")) + sorted(root.glob("app/**/*.[ch]*")):
        name = str(path.relative_to(root))
        if name.startswith("engine/planner/") or path.suffix not in (".cpp", ".h", ".cu", ".cuh"):
            continue
        for number, holder, line in comparisons(path):
            seen.add(name)
            if not OTHERS.fullmatch(holder) and name not in LOOKED_UP:
                bad.append(f"{name}:{number}: {line}")
    for one in bad:
        print(one)
    for name in sorted(set(LOOKED_UP) - seen):
        print(f"{name} compares no names any more: take it from the list")
    if bad or set(LOOKED_UP) - seen:
        sys.exit("names: ask a tensor for its role and a step for its part (engine/program/role.h), or say in "
                 "tests/sources/names.py what is looked up by name")
    print("names: nobody outside the planner asks what a tensor is called")


if __name__ == "__main__":
    main()
