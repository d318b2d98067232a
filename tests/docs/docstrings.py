"""Docstrings as Markdown: Google sections, and the little reStructuredText that ours have."""

from __future__ import annotations

import re
import textwrap

import extapi
import extapi.testing

_WIDTH = 120
_SECTION = re.compile(r"(Args|Attributes|Raises|Returns|Yields):")
_ITEM = re.compile(r"([*\w.]+)(?: \([^)]*\))?: (.*)")


def code(text: str) -> str:
    return f"```text\n{text}\n```\n"


def paragraphs(text: str) -> str:
    """A docstring as Markdown: paragraphs, sections as lists, samples."""
    if not text:
        return ""
    done = []
    for block in _markdown(text).split("\n\n"):
        if block.startswith("```"):
            done.append(block.replace("\n\0", "\n\n"))
        elif block.startswith("- "):
            done.append("\n".join(_wrapped(line, "  ") for line in block.split("\n")))
        else:
            done.append(_wrapped(block))
    return "\n\n".join(done) + "\n"


def item(code: str, text: str) -> str:
    first, *rest = _markdown(text).split("\n\n") if text else [""]
    item = _wrapped(f"- `{code}`: {first}" if first else f"- `{code}`", "  ")
    return "\n".join([item, *(textwrap.indent("\n" + _wrapped(each), "  ") for each in rest)])


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        " ".join(text.split()), _WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )


def _markdown(text: str) -> str:
    """ReStructuredText as our docstrings use it; blank lines of samples are marked by a NUL."""
    blocks: list[str] = []
    sample: list[str] = []
    in_sample, section = False, ""
    for line in text.splitlines():
        if section and (line.startswith("    ") or not line.strip()):
            _add_to(blocks, section, line)
            continue
        section = ""
        if in_sample and (line.startswith("    ") or not line.strip()):
            sample.append(line)
            continue
        if in_sample:
            blocks += _sample(sample)
            in_sample, sample = False, []
        if line.rstrip().endswith("::"):
            in_sample = True
            said = line.rstrip().removesuffix("::").strip()
            blocks += [_inline(said) + ":", ""] if said != "Example" else [""]
            continue
        if found := _SECTION.fullmatch(line):
            section = found[1]
            # One list for all sections that follow each other.
            while blocks and not blocks[-1]:
                blocks.pop()
            if blocks and not blocks[-1].startswith("- "):
                blocks.append("")
        elif blocks and blocks[-1].startswith("- ") and line.startswith(" "):
            blocks[-1] += " " + _inline(line.strip())
        elif blocks and blocks[-1].startswith("- ") and line.strip() and not line.startswith("- "):
            blocks += ["", _inline(line)]
        else:
            blocks.append(_inline(line))
    blocks += _sample(sample)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(blocks)).strip()


def _add_to(blocks: list[str], section: str, line: str) -> None:
    """A line of a section: an item of it, or more of the last one."""
    text = line[4:]
    if not text.strip():
        return
    item = None if text.startswith(" ") or section in {"Returns", "Yields"} else _ITEM.match(text)
    if item is not None:
        name = f"raises {_linked(item[1])}" if section == "Raises" else f"`{item[1]}`"
        blocks.append(f"- {name}: {_inline(item[2])}")
    elif section in {"Returns", "Yields"} and not blocks[-1].startswith(f"- {section.lower()}: "):
        blocks.append(f"- {section.lower()}: {_inline(text)}")
    else:
        blocks[-1] += " " + _inline(text.strip())


def _sample(lines: list[str]) -> list[str]:
    code = textwrap.dedent("\n".join(lines)).strip()
    return ["", "```python", *code.replace("\n\n", "\n\0").splitlines(), "```", ""] if code else []


def _inline(text: str) -> str:
    def role(match: re.Match[str]) -> str:
        target = match[1].lstrip("~").rpartition(".")[2] if match[1].startswith("~") else match[1]
        return _linked(target)

    text = re.sub(r":\w+:`([^`]+)`", role, text)
    return re.sub(r"``(.+?)``", r"`\1`", text)


def _linked(name: str) -> str:
    last = name.rpartition(".")[2]
    if last in extapi.__all__ or last in extapi.testing.__all__:
        return f"[`{last}`](#{last.lower()})"
    return f"`{name.removeprefix('extapi.')}`" if name.startswith("extapi.") else f"`{name}`"
