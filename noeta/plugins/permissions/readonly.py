"""Commands that only read, and so run without a question.

A program is here with the options that would make it write or run something. A word that may
turn out to be an option (`$x`, a pattern that begins with its `*`) counts as the worst of them.
"""

from noeta.plugins.permissions.names import names
from noeta.plugins.permissions.script import Command, Word

# Program -> the long options that it may not have, its short ones as letters.
_PROGRAMS: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(
        names(
            "ls cat echo pwd head tail grep egrep fgrep wc which diff stat du cd true false :"
            " basename dirname realpath readlink cut tr uname whoami id seq nl cmp sha256sum"
            " md5sum sleep test printf type exit return break continue"
        ),
        ((), ""),
    ),
    "sort": (("--output", "--compress-program", "--temporary-directory", "--files0-from"), "oT"),
    "find": (
        tuple(names("-exec -execdir -ok -okdir -delete -fprint -fprint0 -fprintf -fls")),
        "",
    ),
    "rg": (("--pre", "--pre-glob", "--hostname-bin", "--search-zip"), "z"),
    "date": (("--set",), "s"),
}
_GIT = names(
    "status log diff show rev-parse describe ls-files ls-tree blame shortlog merge-base rev-list"
    " name-rev cat-file"
)
# git takes any unambiguous beginning of a long option, so `--outp` is refused as well.
_GIT_LONG = ("--output", "--ext-diff", "--textconv", "--filters", "--open-files-in-pager", "--exec")
_LISTS = {
    "branch": names("-a -r -v -vv --all --remotes --verbose --list --show-current"),
    "tag": frozenset(["-l", "--list"]),
    "remote": frozenset(["-v", "--verbose"]),
    "stash": frozenset(["list"]),
}
_SET_OPTIONS = names("-e -u -x -eu -ex -ux -eux +e +u +x")


def only_reads(command: Command, trust: bool) -> bool:
    """Whether the command can be run without a question, as far as its words show.

    git obeys the repository it stands in, so it only counts once the workspace is trusted.
    """
    name, rest = command.program, command.words[1:]
    if name == "git":
        return trust and _git_reads(rest)
    if name == "set":
        texts = [word.text for word in rest]
        while texts[:1] and texts[0] in _SET_OPTIONS:
            texts.pop(0)
        return all(word.known for word in rest) and texts in ([], ["-o", "pipefail"])
    if name == "command":
        return len(rest) >= 2 and rest[0].text in {"-v", "-V"} and rest[0].known
    if name == "date" and any(not word.text.startswith(("+", "-")) for word in rest):
        return False
    if name not in _PROGRAMS:
        return False
    long, short = _PROGRAMS[name]
    return not long or not any(_may_be(word, long, short, name == "find") for word in rest)


def _may_be(word: Word, long: tuple[str, ...], short: str, whole: bool) -> bool:
    if not word.known:
        return word.may_be_option
    if whole:
        return word.text in long
    flag = word.text.partition("=")[0]
    if flag.startswith("--"):
        return len(flag) > 2 and any(o.startswith(flag) or flag.startswith(o) for o in long)
    return flag.startswith("-") and any(letter in word.text for letter in short)


def _git_reads(words: tuple[Word, ...]) -> bool:
    while words and words[0].text in {"--no-pager", "--no-optional-locks"}:
        words = words[1:]
    if not words or not words[0].known:
        return False
    name, rest = words[0].text, words[1:]
    if name in _LISTS:
        return all(word.known and word.text in _LISTS[name] for word in rest) and (
            name != "stash" or len(rest) == 1
        )
    if name not in _GIT:
        return False
    return not any(_may_be(word, _GIT_LONG, "O", False) for word in rest)
