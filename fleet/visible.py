"""Text from outside (names in a trace, of files, messages) made harmless for a terminal, as pfnset itself does in `src/escape.rs`."""

import re

# Controls (C0, DEL, C1), marks of writing direction, invisible characters, tags, and code points that are no characters.
HIDDEN = re.compile(
    r"[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164"
    r"\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    r"\U000e0000-\U000e0fff" + "".join(rf"\U{plane:04x}fffe\U{plane:04x}ffff" for plane in range(17)) + "]"
)

# Rows of a table that are shown.
MOST = 20


def visible(text):
    """The text with hidden characters written out: controls as `\\x1b`, others as `\\u{202e}`."""
    return HIDDEN.sub(lambda c: f"\\x{ord(c[0]):02x}" if ord(c[0]) < 0xa0 else f"\\u{{{ord(c[0]):x}}}", str(text))


def lines(text):
    """A message, which may have several lines: each of them `visible`."""
    return "\n".join(map(visible, text.split("\n")))


def table(columns, rows, total):
    """A table as Spark shows it, the first `MOST` rows of all that there are, without a line's end."""
    shown = [[visible("NULL" if cell is None else cell) for cell in row] for row in [columns, *rows[:MOST]]]
    widths = [max(3, *map(len, column)) for column in zip(*shown)]
    rule = "+" + "+".join("-" * width for width in widths) + "+"
    head, *body = ["|" + "|".join(cell.ljust(width) for cell, width in zip(row, widths)) + "|" for row in shown]
    more = [f"first {MOST} of {total:,} rows"] if len(rows) > MOST else []
    return "\n".join([rule, head, rule, *body, rule, *more])
