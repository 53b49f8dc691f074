"""Which files a command writes, removes or reads, for the programs whose words are paths."""

import re
from dataclasses import dataclass

from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.script import Command, Word, known

ACCEPTED_WITH_EDITS = names("mkdir touch rm rmdir mv cp sed")
"""Programs that acceptEdits lets run within the directories that are worked in."""

REMOVERS = names("rm rmdir unlink shred")
_ALL = names("mkdir touch mv tee truncate") | REMOVERS
_LAST = names("cp install ln")
_AFTER_FIRST = names("chmod chown chgrp")
_READERS = names(
    "cat head tail grep egrep fgrep rg wc diff cmp stat du ls find sort cut nl sha256sum md5sum"
    " less more strings xxd od hexdump base64 tac rev jq awk sed cp mv realpath readlink"
)
_WRITE_OPTIONS = re.compile(r"--(?:output|target-directory)=(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Files:
    """Words of a command that are paths."""

    writes: tuple[Word, ...] = ()
    removes: tuple[Word, ...] = ()
    reads: tuple[Word, ...] = ()
    narrowed: bool = False
    """Only some files below are removed: `find . -name "*.pyc" -delete`."""


def files_of(command: Command) -> Files:
    """What the words of the command say about files."""
    name = command.program.rsplit("/", 1)[-1]
    operands = _operands(command.words[1:])
    reads = tuple(operands) if name in _READERS else ()
    writes: list[Word] = []
    if name in _ALL:
        writes = operands
    elif name in _LAST:
        writes = _destinations(operands, command.words[1:])
    elif name in _AFTER_FIRST:
        writes = operands[1:]
    elif name == "sed" and any(_in_place(word) for word in command.words[1:]):
        writes = operands if _has_script(command.words) else operands[1:]
    elif name == "dd":
        writes = [known(w.text[3:]) if w.known else w for w in operands if w.head.startswith("of=")]
    elif name == "find" and any(word.text == "-delete" for word in command.words):
        return _find_delete(command)
    elif name in {"sort", "git", "curl", "wget"}:
        writes = _output_options(command.words[1:], name)
    if name == "mv":
        writes = [*writes, *_destinations(operands, command.words[1:])]
    removes = tuple(operands) if name in REMOVERS else ()
    return Files(writes=tuple(dict.fromkeys(writes)), removes=removes, reads=reads)


def _operands(words: tuple[Word, ...]) -> list[Word]:
    operands: list[Word] = []
    options = True
    for word in words:
        if options and word.text == "--":
            options = False
        elif options and word.known and word.text.startswith("-") and len(word.text) > 1:
            # The path of `--target-directory=/x` and of `-t/x`.
            match = re.match(r"-(?:-[\w-]+=|\w)(.*/.*)", word.text, re.DOTALL)
            if match:
                operands.append(known(match[1]))
        else:
            operands.append(word)
    return operands


def _destinations(operands: list[Word], words: tuple[Word, ...]) -> list[Word]:
    """Where copies land: the last operand, and in it under the name of each other one."""
    if any(re.match(r"-\w*t|--t", word.text) for word in words):
        targets = operands
    else:
        targets = operands[-1:]
    landed = [
        known(f"{target.text.rstrip('/')}/{source.text.rstrip('/').rsplit('/', 1)[-1]}")
        for target in targets
        for source in operands
        if source is not target and source.known and target.known
    ]
    tilde = [target for target in targets if target.tilde]
    return [*targets, *landed] if not tilde else [*targets, *(_tilde(word) for word in landed)]


def _tilde(word: Word) -> Word:
    return Word(source=word.text, text=word.text, head=word.text, tilde=word.text.startswith("~"))


def _in_place(word: Word) -> bool:
    if not word.known:
        return word.may_be_option
    return bool(re.match(r"-[A-Za-z]*i|--in", word.text))


def _has_script(words: tuple[Word, ...]) -> bool:
    return any(re.match(r"-[a-z]*[ef]$|--expression|--file", word.text) for word in words)


def _output_options(words: tuple[Word, ...], name: str) -> list[Word]:
    found: list[Word] = []
    for index, word in enumerate(words):
        match = _WRITE_OPTIONS.fullmatch(word.text)
        if match:
            found.append(known(match[1]))
        elif name != "git" and word.text in {"-o", "--output"}:
            found += words[index + 1 : index + 2]
    return found


def _find_delete(command: Command) -> Files:
    starts: list[Word] = []
    for word in command.words[1:]:
        if word.known and word.text[:1] in ("-", "(", "!"):
            break
        starts.append(word)
    starts = starts or [known(".")]
    narrowing = re.compile(r"-i?(name|path|regex|wholename)|-newer|-.time|-.min|-size|-empty")
    narrowed = any(narrowing.match(word.text) for word in command.words)
    return Files(
        writes=tuple(starts), removes=tuple(starts), narrowed=narrowed, reads=tuple(starts)
    )


def is_plain_sed(command: Command) -> bool:
    """Whether a sed does nothing but `s/a/b/`: its other commands can write and run."""
    scripts = [word for word in command.words[1:] if not word.text.startswith("-")][:1]
    options = [word.text for word in command.words[1:] if word.text.startswith("-")]
    if any(option not in {"-i", "-E", "-r", "-n", "-i.bak"} for option in options):
        return False
    return bool(scripts) and scripts[0].known and _is_substitution(scripts[0].text)


def _is_substitution(script: str) -> bool:
    if len(script) < 4 or script[0] != "s" or script[1] in "\\\n" or script[1].isalnum():
        return False
    parts = script[2:].split(script[1])
    return len(parts) == 3 and set(parts[2]) <= set("gIip0123456789") and "\n" not in script
