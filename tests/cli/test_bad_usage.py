"""What was typed is wrong: one sentence that says what to type instead, and exit code 2."""

from pathlib import Path

import pytest

from noeta.host.client import MESSAGE_BYTES_MAX
from tests.cli.bad_input import Lived, copied, make_home, sentence
from tests.cli.command import COMMAND, ECHO, Noeta

LONG = "x" * 10_000


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Noeta, str]:
    directory = tmp_path_factory.mktemp("lived")
    (directory / "work").mkdir()
    noeta = Noeta(home=directory / "home", work=directory / "work")
    return noeta, make_home(noeta)


@pytest.fixture
def lived(template: tuple[Noeta, str], tmp_path: Path) -> Lived:
    noeta, earlier = template
    return Lived(copied(noeta, tmp_path), earlier)


def test_a_directory_that_is_not_there(lived: Lived) -> None:
    """--cwd wants one."""
    says = lived.bad(2, "-p", "hi", "--cwd", "gone")
    assert says == "'gone' does not exist; name another directory"
    lived.assert_nothing_is_lost()


def test_a_file_for_a_directory(lived: Lived, tmp_path: Path) -> None:
    """--cwd wants a directory."""
    (tmp_path / "file").touch()
    says = lived.bad(2, "-p", "hi", "--cwd", str(tmp_path / "file"))
    assert says == f"{str(tmp_path / 'file')!r} is not a directory; name another directory"


def test_a_directory_that_nobody_can_have(lived: Lived) -> None:
    """Longer than a path may be; of a user there is not; with a name that is no text."""
    assert "(File name too long)" in lived.bad(2, "-p", "hi", "--cwd", LONG)
    says = lived.bad(2, "-p", "hi", "--cwd", "~nobody-here/x")
    assert says == "'~nobody-here/x' names a home that is not known; write it in full"


def test_a_current_directory_that_was_deleted(lived: Lived, tmp_path: Path) -> None:
    """It says to go elsewhere."""
    gone = tmp_path / "gone"
    gone.mkdir()
    says = lived.bad(2, "-p", "hi", cwd=gone, before=gone.rmdir)
    assert says == "the current directory was deleted; cd to another one"


def test_a_model_that_is_missing_or_unknown(lived: Lived) -> None:
    """It says which there are."""
    says = lived.bad(2, "-p", "hi")
    assert says == (
        "no model is chosen; give --model provider/model or scripted:FILE, or set NOETA_MODEL"
    )
    says = lived.bad(2, "-p", "hi", "--model", "gpt-99")
    assert says.startswith("there is no model 'gpt-99'")
    assert says.endswith("; write provider/model, scripted:FILE or an alias of the settings")
    assert "openai/gpt-" in says
    lived.assert_nothing_is_lost()


def test_a_script_with_a_mistake(lived: Lived, tmp_path: Path) -> None:
    """Missing, no YAML, or a key there is not: the file and the line are named."""
    script = tmp_path / "s.yaml"
    model = f"scripted:{script}"
    says = lived.bad(2, "-p", "hi", "--model", model)
    assert says == f"there is no script file {str(script)!r}; check the path"
    script.write_text("steps:\n  - text: 'hi\n")
    says = lived.bad(2, "-p", "hi", "--model", model)
    assert says.startswith(f"{script}, line ")
    assert "not valid YAML" in says
    script.write_text("steps:\n  - txet: hi\n")
    says = lived.bad(2, "-p", "hi", "--model", model)
    assert says.startswith(f"{script}, ")
    assert "txet" in says
    lived.assert_nothing_is_lost()


def test_a_settings_file_with_a_mistake(lived: Lived) -> None:
    """Of the user: no command works by other settings than were written down."""
    settings = lived.noeta.home / "settings.toml"
    settings.write_text("model = \n")
    for command in (("-p", "hi"), ("tasks", "list")):
        says = lived.bad(2, *command)
        assert says.startswith(f"{settings} is not valid TOML: Invalid value (at line 1, ")
    settings.write_text("modle = 'm'\n")
    assert lived.bad(2, "-p", "hi").startswith(f"{settings}: there is no setting 'modle'; the ")
    settings.unlink()
    lived.assert_nothing_is_lost()


def test_a_variable_with_a_mistake(lived: Lived) -> None:
    """It is named."""
    says = lived.bad(2, "tasks", "list", environ={"NOETA_LEASE_SECONDS": "soon"})
    assert says == "NOETA_LEASE_SECONDS is 'soon'; give seconds, such as 30"


@pytest.mark.parametrize(
    "bad_id", ["nosuch", "../x", "", LONG, "a b", "%", "\udcff"], ids=lambda bad: bad[:6] or "empty"
)
def test_an_id_that_is_not_there(lived: Lived, bad_id: str) -> None:
    """Unknown or no id at all: the same sentence, cut to a size a person can read."""
    expected = f"there is no task {bad_id[:80]!r}; `noeta tasks list` shows them"
    assert lived.bad(2, "--resume", bad_id, "-p", "hi") == expected
    assert lived.bad(2, "tasks", "log", bad_id) == expected


def test_ids_that_are_not_there_lose_nothing(lived: Lived) -> None:
    """An empty one neither takes the only task nor makes a new one."""
    lived.bad(2, "--resume", "", "-p", "hi", "--model", lived.noeta.script(ECHO))
    lived.bad(2, "--resume", "nosuch", "-p", "hi")
    lived.assert_nothing_is_lost()


def test_an_id_that_could_be_two_tasks(lived: Lived) -> None:
    """Both are named."""
    expected = "'aaaa' could be any of aaaa1, aaaa2; give more characters"
    assert lived.bad(2, "--resume", "aaaa", "-p", "hi") == expected
    assert lived.bad(2, "tasks", "show", "aaaa") == expected
    lived.assert_nothing_is_lost()


def test_a_task_of_another_host(lived: Lived) -> None:
    """Its files are not here."""
    says = lived.bad(2, "--resume", "elsewhere1", "-p", "hi")
    assert says == "task elsewhere1 lives on the files of host elsewhere; resume it there"
    lived.assert_nothing_is_lost()


def test_nothing_to_continue(lived: Lived, tmp_path: Path) -> None:
    """In this directory; it says where to look."""
    says = lived.bad(2, "--continue", "-p", cwd=tmp_path)
    assert says == (
        f"there is no unfinished task in {tmp_path}; `noeta tasks list --all` shows every task"
    )


def test_flags_that_exclude_or_need_each_other(lived: Lived) -> None:
    """Nothing is guessed."""
    says = lived.bad(2, "--resume", lived.earlier, "--continue", "-p")
    assert says == "--resume and --continue exclude each other; --resume ID names one"
    says = lived.bad(2, "--output-format", "json")
    assert says == '--output-format goes with -p, as in: noeta -p "..." --output-format json'
    lived.assert_nothing_is_lost()


def test_a_command_that_is_not_there(lived: Lived) -> None:
    """Those that are there are listed; so are the choices of a flag."""
    says = lived.bad(2, "frobnicate")
    assert all(name in says for name in ("frobnicate", "tasks", "doctor", "trust", "demo"))
    assert "'text', 'json'" in lived.bad(2, "-p", "hi", "--output-format", "xml")
    assert "permission_mode is 'yolo'" in lived.bad(2, "-p", "hi", "--permission-mode", "yolo")


def test_a_prompt_of_ten_megabytes(lived: Lived) -> None:
    """It would make its task unusable for good; the words are kept for another way."""
    model = lived.noeta.script(ECHO)
    new = lived.noeta.home / "new"
    environ = {"NOETA_HOME": str(new)}
    says = lived.bad(2, "-p", "--model", model, stdin=b"x" * 10_000_000, environ=environ)
    assert not new.exists(), "a refused prompt makes no home"
    assert says == (
        f"the message has 10,000,000 bytes and at most {MESSAGE_BYTES_MAX:,} fit; put the text"
        " in a file and tell the model where it is"
    )
    says = lived.bad(2, "-p", "--model", model, stdin=b"x" * (10 * 1024 * 1024 + 1))
    assert says == "stdin holds more than 10 MiB; put it in a file and name the file"
    says = lived.bad(2, "--resume", lived.earlier, "-p", stdin=b"x" * 10_000_000)
    assert says.startswith("the message has 10,000,000 bytes")
    lived.assert_nothing_is_lost()


def test_the_largest_argument_is_taken_whole(lived: Lived) -> None:
    """Linux hands over at most 128 KiB in one."""
    prompt = "x" * (128 * 1024 - 1)
    ran = lived.noeta.run("-p", prompt, "--model", lived.noeta.script(ECHO))
    assert (ran.code, ran.out) == (0, f"You said: {prompt}\n")


def test_a_prompt_that_is_empty(lived: Lived) -> None:
    """Given as such, from an empty stdin, or from none at all."""
    says = '-p needs a prompt, as in: noeta -p "list the files"'
    for args in (("-p",), ("-p", ""), ("-p", " \n")):
        assert lived.bad(2, *args, "--model", lived.noeta.script(ECHO)) == says
    closed = f"exec {' '.join(COMMAND)} -p <&-"
    assert _shell(lived.noeta, closed) == says
    lived.assert_nothing_is_lost()


def test_a_prompt_that_is_no_unicode_is_run(lived: Lived) -> None:
    """A file name in another encoding, say: what cannot be read becomes a mark."""
    ran = lived.noeta.run("-p", "caf\udce9", "--model", lived.noeta.script(ECHO))
    assert (ran.code, ran.out) == (0, "You said: caf?\n")


def test_trust_for_a_directory_that_is_not_there(lived: Lived) -> None:
    """A typing mistake must not be trusted once it comes true."""
    assert lived.bad(2, "trust", "gone").startswith("'gone' does not exist")
    assert not (lived.noeta.home / "trusted").exists()


def _shell(noeta: Noeta, script: str) -> str:
    """The sentence of a command that a shell starts."""
    shell = Noeta(home=noeta.home, work=noeta.work, command=("/bin/sh", "-c", script))
    return sentence(shell.run(), 2)
