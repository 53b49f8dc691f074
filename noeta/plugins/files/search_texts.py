"""What Glob and Grep tell the model: what they do, what went wrong, what to do then."""

from noeta.plugins.files.texts import count

GLOB = (
    "Find files by path, the newest first, at most 100. * and ? stay within a name, ** spans"
    " directories ({a,b} and [a-z] too): **/*.py, src/*.{js,ts}. Ignored files are listed too."
)
GREP = (
    "Search file contents with ripgrep. The pattern is a regex of its dialect: escape literal"
    " braces. Files in .gitignore are left out unless path names them."
)


def no_such_directory(path: str, cwd: str) -> str:
    return f"There is no directory {path!r} (the working directory is {cwd!r})."


def no_such_path(path: str, cwd: str) -> str:
    return f"There is no file or directory {path!r} (the working directory is {cwd!r})."


def a_file(path: str) -> str:
    return f"{path!r} is a file, not a directory. Give the directory that it is in."


def no_files(pattern: str, path: str) -> str:
    hint = "" if "**" in pattern else f" To look below it too, use '**/{pattern}'."
    return f"No file in {path!r} fits {pattern!r}.{hint}"


def files_left_out(*, shown: int, total: int) -> str:
    return f"[The newest {shown} of {total} files are shown. Narrow the pattern or the path.]"


def bad_pattern(pattern: str, why: str) -> str:
    return f"{pattern!r} is no pattern: {why}. Write [[] for a literal bracket."


GLOB_SLOW = "The search took longer than {seconds} s and was stopped. Give a path to search in."
GREP_SLOW = (
    "The search took longer than {seconds} s and was stopped. Narrow it with path, glob or type."
)
NO_RIPGREP = (
    "Grep needs ripgrep (rg), which is not installed here. Search with the command grep -rn, or ask"
    " the user for: pip install 'noeta[rg]'"
)


def grep_refused(words: str) -> str:
    return f"ripgrep did not accept this search; change it as it says:\n{words}"


def grep_failed(ending: str) -> str:
    return f"ripgrep ended with {ending} and said nothing. Try again, or use the command grep -rn."


def no_match(pattern: str, path: str) -> str:
    return f"Nothing in {path!r} matches {pattern!r}."


SOME_UNREAD = "Some of it could not be read."


def offset_past_matches(*, offset: int, total: int, what: str) -> str:
    return f"There are {total} {what} and offset {offset} skips them all. Give a smaller one."


def more_entries(*, first: int, last: int, total: str, what: str) -> str:
    return (
        f"[{what.capitalize()} {first} to {last} of {total}. For more use offset {last}, or narrow"
        " the search.]"
    )


def matches_total(matches: int, files_count: int, *, at_least: bool) -> str:
    more = "at least " if at_least else ""
    files = count(files_count, "file")
    return f"[In all {more}{count(matches, 'match', 'matches')} in {files}.]"


OUTPUT_CUT = "[The search found too much and was stopped there; narrow it.]"
