#!/usr/bin/env python3
"""Answers command lines of the program by way of the module, for tools that compare the program with what is known of traces:

    check_expected.py --bin python/tools/by_module.py ...

Uses the interpreter in PFNSET_PYTHON, which has the module. What the module does not have is code 2.
"""

import os
import sys

if os.environ.get("PFNSET_PYTHON") and not os.environ.get("PFNSET_BY_MODULE"):
    os.environ["PFNSET_BY_MODULE"] = "1"
    os.execv(os.environ["PFNSET_PYTHON"], [os.environ["PFNSET_PYTHON"], *sys.argv])

import inspect
import json
import warnings

import pfnset

# Flags that may stand several times.
SEVERAL = {"where", "symbols", "field", "map", "manifest"}


def read(arguments, method):
    """The files, the form, and the other flags as arguments of a method."""
    parameters = inspect.signature(method).parameters
    files, form, given, rest = [], "table", {}, list(arguments)
    while rest:
        argument = rest.pop(0)
        if not argument.startswith("--"):
            files.append(argument)
            continue
        flag, equals, value = argument[2:].partition("=")
        name = flag.replace("-", "_")
        name = name + "_" if name + "_" in parameters else name
        if name not in parameters and name != "format":
            sys.exit(f"by_module: {argument} is not of the module")
        if not equals and name != "format" and parameters[name].default is False:
            given[name] = True
            continue
        value = value if equals else rest.pop(0)
        if name == "format":
            form = value
        elif name in SEVERAL:
            given.setdefault(name, []).append(value)
        else:
            given[name] = value
    return files, form, given


def answered(command, arguments):
    """What the program would print, and its exit code."""
    if command == "diff":
        files, form, given = read(arguments, pfnset.diff)
        answer = pfnset.diff(*files, **given)
    else:
        of_records = "--rows" in arguments
        method = getattr(pfnset.Trace, "records" if of_records else command, None)
        if method is None:
            sys.exit(f"by_module: {command} is not of the module")
        files, form, given = read([argument for argument in arguments if argument != "--rows"], method)
        with pfnset.open(*files) as trace:
            answer = method(trace, **given)
            if of_records:
                return "".join(json.dumps(record) + "\n" for record in answer), 0
            if form != "json":
                return (answer.text() if form == "table" else answer.to(form)), answer.exit_code
    if form != "json":
        sys.exit("by_module: JSON alone")
    return json.dumps(answer.to_dict()), answer.exit_code


def main():
    warnings.showwarning = lambda message, *_: print(f"pfnset: warning: {message}", file=sys.stderr)
    if sys.argv[1:2] in (["--version"], []):
        print("pfnset", pfnset.__version__)
        return 0
    try:
        output, code = answered(sys.argv[1], sys.argv[2:])
    except pfnset.Error as error:
        print(f"pfnset: {error}", file=sys.stderr)
        return error.exit_code
    sys.stdout.write(output)
    return code


if __name__ == "__main__":
    sys.exit(main())
