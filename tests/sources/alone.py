#!/usr/bin/env python3
"""Compiles files by themselves, which the build does not: it compiles the files of a folder together, with headers
that were parsed before, and so a file finds what only its neighbours include.

All files would take as long as a build without units. So only those that a change touches: what differs from a commit
(--since, by default the one before the last), and what is not committed yet. A header is compiled as if it were a file.

    alone.py ROOT BUILD [--since COMMIT | --all | FILE...]      0: all compile; 1: some do not, which are printed
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

FOLDERS = ("engine/", "ui/", "app/", "tests/")
LEFT_OUT = re.compile(r"^tests/(cuda_on_host/include|plugins|data)/|\.(cu|cuh)$")


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=True).stdout.split("\n")


def touched(root, since):
    """Files that differ from `since`, and new ones."""
    names = git(root, "diff", "--name-only", "--diff-filter=d", since) + git(root, "ls-files", "--others", "--exclude-standard")
    return sorted({name for name in names if name.startswith(FOLDERS) and name.endswith((".h", ".cpp"))})


def commands_by_file(root, build):
    """How each file is compiled: the command of its unit."""
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        source = pathlib.Path(entry["file"])
        command = (shlex.split(entry["command"]), entry["directory"])
        if any(word.endswith("nvcc") for word in command[0]):
            continue  # the tests compile the same sources for the host
        inside = re.findall(r'#include "([^"]+)"', source.read_text()) if "/Unity/" in str(source) else [str(source)]
        for file in inside:
            commands.setdefault(os.path.relpath(file, root), command)
    return commands


def alone(command):
    """The command for one file on standard input: without what names the unit, its object and the headers parsed before."""
    words, at = [], 0
    while at < len(command):
        word = command[at]
        at += 1
        if word in ("-o", "-c", "-MT", "-MF", "-include"):  # -c is followed by the unit
            kept = [word, command[at]] if word == "-include" and "cmake_pch" not in command[at] else []
            words += kept
            at += 1
        elif word not in ("-MD", "-MMD", "-Winvalid-pch") and not word.endswith((".cpp", ".cxx", ".c")):
            words.append(word)
    compiler = next(i for i, word in enumerate(words) if re.search(r"(g\+\+|c\+\+|clang\+\+)[-\d.]*$", word))
    # A header has functions that nobody calls there, and here every file is included: GCC takes its anonymous namespace
    # for that of a header.
    return words[compiler:] + ["-fsyntax-only", "-fdiagnostics-color=never", "-Wno-unused", "-Wno-subobject-linkage",
                               "-x", "c++", "-"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--since", default="HEAD~1")
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    root = options.root.resolve()
    commands = commands_by_file(root, options.build)
    if options.files:
        names = options.files
    elif options.all:
        names = sorted({str(path.relative_to(root)) for folder in FOLDERS for path in (root / folder).rglob("*")
                        if path.suffix in (".h", ".cpp")})
    else:
        try:
            names = touched(root, options.since)
        except (OSError, subprocess.CalledProcessError):
            print(f"skipped: git does not know what has changed since {options.since} here")
            return 0
    names = [name for name in names if not LEFT_OUT.search(name)]

    def command_of(name):
        """A header is compiled like a file of its folder, or of the nearest one above that has files."""
        if name in commands:
            return commands[name]
        if not name.endswith(".h"):
            return None  # no program of this build has it
        folder = pathlib.PurePath(name).parent
        if any((root / folder).glob("*.cpp")) and not any(file.startswith(f"{folder}/") for file in commands):
            return None  # nor is any file beside it: those of other kernels
        for above in [folder, *folder.parents]:
            for file, command in commands.items():
                if file.startswith(f"{above}/"):
                    return command
        return None

    def compile_one(name):
        command = command_of(name)
        if command is None:
            return None
        done = subprocess.run(alone(command[0]), input=f'#include "{root / name}"\n', cwd=command[1],
                              capture_output=True, text=True)
        return "" if done.returncode == 0 else "\n".join(done.stderr.splitlines()[:12])

    failed = left_out = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, problem in zip(names, pool.map(compile_one, names)):
            left_out += problem is None
            if problem:
                failed += 1
                print(f"{name} does not compile by itself:\n{problem}\n", flush=True)
    print(f"{len(names) - left_out} files compiled by themselves, {failed} failed, {left_out} are in no program here")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
