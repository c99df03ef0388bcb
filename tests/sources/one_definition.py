#!/usr/bin/env python3
"""Finds names that two files of one program define: types, and inline functions and templates.

Neither the compiler nor the linker says so. The linker keeps one of two inline functions, and a class with other
members than its users think it has reads memory that is not its own. What is in an anonymous namespace is only its
file's.

    one_definition.py ROOT      0: none; 1: some, which are printed
"""
import collections
import pathlib
import re
import sys

# What each program is made of: folders, and of some only the headers. A name may be defined once in each.
PROGRAMS = {
    "shardlens": ["engine", "ui", "app/command_line", "app/studio"],
    "shardlens-cli": ["engine", "app/command_line", "app/cli"],
    "engine_tests": ["engine", "tests/engine", "tests/*"],
    "ui_tests": ["engine", "ui", "tests/engine headers", "tests/ui", "tests/*"],
    "app_tests": ["engine", "tests/engine headers", "tests/app", "tests/*"],
    "cuda_on_host": ["engine", "tests/cuda_on_host"],
    "reader_fuzz": ["engine", "tests/fuzz"],
}
# What stands for CUDA's own headers there, and is read instead of them.
PLAYED = "tests/cuda_on_host/include/"
# Where the build chooses one of two files, the usual one is read.
NOT_CHOSEN = "engine/base/worker_turns.cpp"
ENDINGS = {".h", ".cpp", ".cu", ".cuh"}

# Comments, raw strings, strings and characters, so that their braces do not count; and lines of the preprocessor.
NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\''
    r"|^[ \t]*#(?:\\\n|[^\n])*", re.DOTALL | re.MULTILINE)
TYPE = re.compile(r"\b(?:struct|class|union|enum(?:\s+class|\s+struct)?)\s+(?:\[\[[^\]]*\]\]\s*)?(?:alignas\([^)]*\)\s*)?"
                  r"(?P<name>[A-Za-z_][\w:]*\s*(?:<[^;{}()]*>)?)\s*(?:final\s*)?(?::[^:].*)?$", re.DOTALL)
NAMESPACE = re.compile(r"\bnamespace\b\s*(?P<name>[\w:]*)\s*$")
FUNCTION = re.compile(r"(?P<name>[A-Za-z_~][\w:]*|operator\s*[^\s(]+)\s*\((?P<parameters>.*?)\)"
                      r"\s*(?:const|noexcept|->\s*[\w:<>,*& ]+|\s)*$", re.DOTALL)


def definitions(text):
    """The qualified names that a text defines outside of functions and anonymous namespaces."""
    code = NOT_CODE.sub(lambda found: "\n" if found.group().startswith("#") else " \"\" " if found.group()[0] in "\"'R" else " ",
                        text)
    scopes = []  # of each open brace: a name; "" adds nothing; None: nothing in it is seen from outside
    begin = 0
    for found in re.finditer(r"[{};]", code):
        head = code[begin:found.start()]
        begin = found.end()
        mark = found.group()
        if mark == "}":
            if scopes:
                scopes.pop()
            continue
        if mark == ";":
            continue
        seen = None not in scopes
        scope = None
        if namespace := NAMESPACE.search(head):
            scope = namespace["name"] or None
        elif re.search(r'extern\s*""\s*$', head):
            scope = ""
        elif (kind := TYPE.search(head)) and not head.rstrip().endswith(")") and "=" not in head.split("<")[0]:
            scope = re.sub(r"\s+", "", kind["name"])
            if seen:
                yield "::".join(name for name in [*scopes, scope] if name)
        elif seen and re.search(r"\b(inline|template|constexpr)\b", head) and (made := FUNCTION.search(head)):
            outside = all(name == "" or name[:1].islower() for name in scopes)  # not a member
            if outside and not re.search(r"\bstatic\b|\brequires\b|always_inline", head) and "::" not in made["name"]:
                parameters = re.sub(r"\s+", " ", made["parameters"]).strip()
                types = re.sub(r"\s*[A-Za-z_]\w*\s*(?:=[^,]*)?(?=,|$)", "", parameters)
                yield "::".join(name for name in [*scopes, made["name"]] if name) + f"({types})"
        scopes.append(scope)


def files_of(root, folders):
    for folder in folders:
        folder, _, only = folder.partition(" ")
        endings = {".h"} if only == "headers" else ENDINGS
        own = (root / folder[:-2]).glob("*") if folder.endswith("/*") else (root / folder).rglob("*")
        yield from (path for path in sorted(own)
                    if path.suffix in endings and path.is_file() and PLAYED not in path.as_posix()
                    and not path.as_posix().endswith(NOT_CHOSEN))


def pairs(files, text_of):
    """Names with the files that define them, where these are two or more."""
    places = collections.defaultdict(list)
    for path in files:
        for name in set(definitions(text_of(path))):
            places[name].append(path)
    return {name: paths for name, paths in places.items() if len(paths) > 1}


def check_itself():
    """What this must find, and what it must not."""
    texts = {
        "a.h": "namespace a::b { struct Page { int x; }; inline int one(int x) { return x; } }",
        "b.h": "namespace a { namespace b { class Page final : Base { char x = '{'; }; inline int one(int y) { return y; } } }",
        "c.h": "namespace a { namespace { struct Hidden {}; } struct Page {}; enum class Kind { One }; struct Outer { struct In {}; }; }",
        "d.h": "namespace a { namespace { struct Hidden {}; } struct Page; int f(struct Page* p) { struct Local {}; return 0; } "
               "struct Other { struct In {}; }; }  // struct Kind {",
        "e.h": "namespace a { int f(int x) { struct Local {}; return x; } const char* s = R\"(struct Kind {)\"; enum class Kind { Two }; }",
    }
    found = pairs(sorted(texts), texts.get)
    expected = {"a::b::Page": ["a.h", "b.h"], "a::b::one(int)": ["a.h", "b.h"], "a::Kind": ["c.h", "e.h"]}
    if found != expected:
        sys.exit(f"one_definition.py does not find what it must: {found}")


def main():
    check_itself()
    root = pathlib.Path(sys.argv[1])
    texts, found, seen = {}, {}, 0
    for program, folders in PROGRAMS.items():
        files = list(dict.fromkeys(files_of(root, folders)))
        if not files:
            sys.exit(f"{root} has no files of {program}")
        for path in files:
            if path not in texts:
                texts[path] = path.read_text(encoding="utf-8")
        seen += len(files)
        for name, paths in pairs(files, texts.get).items():
            found.setdefault(name, paths)
    for name, paths in sorted(found.items()):
        print(f"{name} is defined in", " and ".join(str(path.relative_to(root)) for path in paths))
    print(f"{len(texts)} files, {len(found)} names defined twice")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
