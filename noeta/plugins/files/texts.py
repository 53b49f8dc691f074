"""What Read, Write and Edit tell the model: what they do, what went wrong, what to do then."""

from collections.abc import Sequence

READ = (
    "Read a file; paths start at the working directory unless absolute. Text comes with line"
    " numbers, 2,000 lines or 100 KB at a time: go on with offset. Images are shown, notebooks"
    " come as cells with their outputs, PDF as text (pages: at most 20 a call)."
)
WRITE = (
    "Create a file, with its parent directories, or replace one whole. An existing file must have"
    " been read whole before. To change part of a file use Edit."
)
EDIT = (
    "Replace old_string by new_string in a file that was read before. old_string is matched"
    " exactly, without the line numbers of Read, and must occur once, or set replace_all."
)

# Paths -----------------------------------------------------------------------------------------


def missing(path: str, cwd: str) -> str:
    return f"There is no file {path!r} (the working directory is {cwd!r}). Find it with Glob."


def a_directory(path: str) -> str:
    return f"{path!r} is a directory, not a file. List what is in it with Glob."


def no_regular_file(path: str) -> str:
    return f"{path!r} is a device, a pipe or a socket, not a file. Give the path of a file."


def nul_in(what: str) -> str:
    return f"The {what} has a NUL character in it. Give it without one."


def empty(what: str) -> str:
    return f"The {what} is empty. Give one."


def home_path(path: str) -> str:
    return f"{path!r} starts with ~, which is not expanded. Give an absolute path."


def unusable(error: Exception) -> str:
    return f"This did not work: {error}. Try another path, or tell the user."


# Read ------------------------------------------------------------------------------------------


def empty_file(path: str) -> str:
    return f"{path!r} is there and is empty."


def past_end(path: str, *, offset: int, lines_count: int) -> str:
    lines = count(lines_count, "line")
    return f"{path!r} has {lines}; offset {offset} is past its end. Give a smaller one."


def partial(*, first: int, last: int, total: int | None) -> str:
    lines = f"of {total}" if total is not None else "of a file too long to count"
    return (
        f"[PARTIAL: lines {first} to {last} {lines}. For what follows, read with offset"
        f" {last + 1}. Edit is possible now; Write needs the whole file read.]"
    )


def lines_cut(chars: int) -> str:
    return f"[Lines longer than {chars} characters are cut; Grep with -o shows parts of them.]"


def range_too_large(path: str, *, first: int, last: int, fits: int, bytes_max: int) -> str:
    return (
        f"Lines {first} to {last} of {path!r} are larger than the {bytes_max} bytes of one read."
        f" Give limit {fits - first + 1} or less."
    )


def binary(path: str, size_bytes: int) -> str:
    return (
        f"{path!r} is binary ({count(size_bytes, 'byte')}), and Read shows text, images, notebooks"
        " and PDF. Look at it with a command."
    )


def image_too_large(path: str, *, size_bytes: int, bytes_max: int) -> str:
    return (
        f"The image {path!r} has {size_bytes} bytes, and at most {bytes_max} can be shown. Make a"
        " smaller copy with a command and read that."
    )


def image(path: str, media_type: str, size_bytes: int) -> str:
    return f"{path!r}: {media_type}, {size_bytes} bytes."


def file_too_large(path: str, *, size_bytes: int, bytes_max: int) -> str:
    return f"{path!r} has {size_bytes} bytes, and this works up to {bytes_max}. Use a command."


def broken_notebook(path: str, why: str) -> str:
    return f"{path!r} is no valid notebook: {why}. Look into it with Grep or a command."


def pages_only_for_pdf(path: str) -> str:
    return f"{path!r} is no PDF, and pages is for PDF only. Use offset and limit."


def bad_pages(pages: str) -> str:
    return f"pages {pages!r} is no page range. Give one such as '3' or '1-5'."


def pages_past_end(path: str, *, pages: str, pages_count: int) -> str:
    total = count(pages_count, "page")
    return f"{path!r} has {total}; pages {pages!r} goes past its end. Give a smaller range."


def too_many_pages(*, asked: int, pages_max: int) -> str:
    return f"{asked} pages were asked for, and one read gives at most {pages_max}. Ask for fewer."


def pages_needed(path: str, *, pages_count: int, pages_max: int) -> str:
    return (
        f"{path!r} has {pages_count} pages, and only up to {pages_max} are read at once unasked."
        " Give a range in pages, such as '1-5'."
    )


def no_pypdf(path: str) -> str:
    return (
        f"{path!r} is a PDF, and pypdf, which reads those, is not installed. Try the command"
        " pdftotext, or ask the user for: pip install 'noeta[web-tools]'"
    )


def broken_pdf(path: str, why: str) -> str:
    return f"{path!r} cannot be read as a PDF: {why}. Try the command pdftotext."


# Write and Edit ---------------------------------------------------------------------------------


def write_unread(path: str) -> str:
    return (
        f"{path!r} exists and was not read in this task. Read the whole file first, then write it"
        " or, better, edit it."
    )


def write_partly_read(path: str) -> str:
    return (
        f"Only part of {path!r} was read, and Write would replace all of it. Use Edit, or read the"
        " whole file first."
    )


def write_changed(path: str) -> str:
    return f"{path!r} changed since it was read. Read it again, then write it."


def edit_unread(path: str) -> str:
    return f"{path!r} was not read in this task. Read it first, then edit it."


def edit_changed(path: str) -> str:
    return (
        f"{path!r} changed since it was read, and old_string does not occur exactly once in it"
        " now. Read it again, then edit it."
    )


def nothing_to_edit(path: str, cwd: str) -> str:
    return (
        f"There is no file {path!r} to edit (the working directory is {cwd!r}). Create it with"
        " Write, or find the right one with Glob."
    )


OLD_STRING_EMPTY = (
    "old_string is empty. Give the text to replace; to create or fill a file use Write."
)
SAME_STRINGS = (
    "old_string and new_string are the same, but for line ends at most, which Edit keeps as the"
    " file has them. Give a new_string that differs."
)
NOT_TEXT = "{what} has half of a surrogate pair in it, which is no text. Give whole characters."


def not_found(path: str) -> str:
    return (
        f"old_string does not occur in {path!r}. It must match exactly: every space, tab and line,"
        " without the line numbers of Read. Read that part again and copy it."
    )


def not_once(path: str, lines: Sequence[int]) -> str:
    shown = ", ".join(str(line) for line in lines[:10]) + (", ..." if len(lines) > 10 else "")
    return (
        f"old_string occurs {len(lines)} times in {path!r}, at lines {shown}. Add lines around it"
        " until it occurs once, or set replace_all."
    )


def changed_meanwhile(path: str) -> str:
    return (
        f"{path!r} was changed by somebody else during this call, and nothing was written. Read it"
        " again, then repeat the call if it is still right."
    )


def wrote(path: str, size_bytes: int, *, created: bool) -> str:
    return f"{'Created' if created else 'Replaced'} {path!r} ({count(size_bytes, 'byte')})."


def edited(path: str, lines: Sequence[int]) -> str:
    if len(lines) == 1:
        return f"Edited {path!r} at line {lines[0]}."
    return f"Edited {path!r} in {len(lines)} places, the first at line {lines[0]}."


def kept_form(form: str) -> str:
    return f"Its {form} were kept."


OTHER_CHANGES = (
    "The file has changed since it was read: it holds other changes, which were kept. Read it again"
    " before you rely on the rest of it."
)


def other_names(names_count: int) -> str:
    return f"Its other hard links ({names_count}) still lead to the old content."


def count(number: int, one: str, many: str = "") -> str:
    """A number and its noun."""
    return f"{number} {one if number == 1 else many or one + 's'}"
