"""Every command, every kind of bad input: one line, exit code 2, nothing written, nothing executed."""

import contextlib
import io
import os
import signal
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from attribound import cli

CERTIFY = "certify --model mnist-cnn-noise --data mnist-sample --samples 16 --workers 1 --items 1 --out o"
HUGE = "9" * 30
_LONGEST_SECONDS = 60


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    """A folder with a good run and everything that is not what it seems."""
    folder = tmp_path_factory.mktemp("hostile")
    bad = folder / "bad"
    bad.mkdir()
    os.mkfifo(bad / "fifo")
    (bad / "folder").mkdir()
    (bad / "folder" / "x").write_text("x")
    (bad / "empty").write_bytes(b"")
    (bad / "dangling").symlink_to("gone")
    (bad / "loop").symlink_to("loop")
    (bad / "text").write_text("hello\n")
    (bad / os.fsdecode(b"caf\xe9\x1b[2J")).write_bytes(b"x")
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a/data.pkl", bytes(4000))
    (bad / "cut.zip").write_bytes(archive.getvalue()[:2000])
    (bad / "whole.zip").write_bytes(archive.getvalue())
    for path in list(bad.iterdir()):  # each under every name by which a reader is chosen, too
        for suffix in (".safetensors", ".pt", ".pt2"):
            path.with_name(path.name + suffix).symlink_to(path)
    with contextlib.chdir(folder), contextlib.redirect_stdout(io.StringIO()):
        assert cli.run([*CERTIFY.split()[:-1], "good"]) == 0
    return folder


def seen(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Kind, size and time of everything below a folder."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            status = os.lstat(os.path.join(above, name))
            found[os.path.join(above, name)] = (status.st_mode, status.st_size, status.st_mtime_ns)
    return found


@contextlib.contextmanager
def in_time() -> Iterator[None]:
    """Whoever waits for a pipe or unpacks for ever is stopped."""

    def late(number: int, frame: object) -> None:
        pytest.fail(f"it took more than {_LONGEST_SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(_LONGEST_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def refused(words: list[str], folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line, 2, and nothing else."""
    before = seen(folder)
    with contextlib.chdir(folder), in_time():
        code = cli.run(words)
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert len(err) < 2100
    assert err[:-1].isprintable()
    assert "ATTRIBOUND_DEBUG" not in err, "an error that nobody foresaw"
    assert seen(folder) == before, "something was written or removed"


BAD = ["fifo", "folder", "empty", "dangling", "loop", "text", os.fsdecode(b"caf\xe9\x1b[2J"), "cut.zip", "whole.zip"]
PATHS = [f"bad/{name}" for name in BAD] + ["none", "/dev/zero", "/dev/null", "", "x" * 5000, "a\0b"]
READS = [
    *(f"{command} {{}}" for command in ("show", "export", "verify", "attack", "report", "replay")),
    "copy {} new",
    "gate {} --cosine 0.8 --epsilon 0.1 --share 0.5",
    "compare {} good",
    "compare good {}",
    "report good --scan {} --out o.html",
    f"{CERTIFY} --model {{}}",
    f"{CERTIFY} --model {{}} --arch small-cnn",
    f"{CERTIFY} --model {{}}.safetensors --arch small-cnn",
    f"{CERTIFY} --model {{}}.pt --arch small-cnn",
    f"{CERTIFY} --model {{}}.pt --trust-model",
    f"{CERTIFY} --model {{}}.pt2 --trust-model",
    f"{CERTIFY} --denoiser {{}}.safetensors",
    *(f"{CERTIFY} --data {kind}:{{}}" for kind in ("mnist", "cifar10", "folder", "npz", "csv", "parquet")),
    f"{CERTIFY} --data csv:{{}}?label=x&scale={{}}",
    "train --out o.safetensors --start {}",
    "train --out o.safetensors --data npz:{}",
    "tune --out o.json --data npz:{}",
    "attack good --model {}",
    "verify good --resample 1 --model {}",
    "paper {} --quick --out o",
    "data fetch {} --out o",
]


def typed(template: str, value: str) -> list[str]:
    return [word.replace("{}", value) for word in template.split()]


@pytest.mark.parametrize("template", READS)
def test_files_that_are_not_what_they_seem(template, place, capsys) -> None:
    for path in PATHS:
        refused(typed(template, path), place, capsys)


WRITES = [
    "report good --out {}",
    *(f"export good --format {form} --out {{}}" for form in ("csv", "json", "latex", "parquet")),
    "tune --items 1 --samples 16 --level 0.5 --out {}",
    "train --out {}.safetensors",
    "copy good {}",
    "compare good good --out {}",
    *(f"gate good --cosine 0.8 --epsilon 0.1 --share 0 --{form} {{}}" for form in ("junit", "markdown", "sarif")),
    f"{CERTIFY} --out {{}}",
]
UNWRITABLE = ["bad/folder", "bad/loop", "bad/text/below", "x" * 5000, "a\0b"]


@pytest.mark.parametrize("template", WRITES)
def test_places_where_nothing_can_be_written(template, place, capsys) -> None:
    for path in UNWRITABLE:
        refused(typed(template, path), place, capsys)


NOT_POSITIVE = ["nan", "inf", "-inf", "-1", "0", "one", "1e400"]
NOT_COUNTS = ["nan", "-1", "0", "1.5", "one", "0x10"]
NUMBERS = {
    "bound --dim 9 --radius 1 --norm 0.5 --epsilon 0.1 --dim {}": [*NOT_COUNTS, "1"],
    "bound --dim 9 --radius 1 --norm 0.5 --epsilon 0.1 --radius {}": NOT_POSITIVE,
    "bound --dim 9 --radius 1 --norm 0.5 --epsilon 0.1 --limit {}": [*NOT_POSITIVE, "1e-320"],
    "bound --dim 9 --radius 1 --norm 0.5 --epsilon 0.1 --norm {}": ["nan", "inf", "-1", "2", "one"],
    "bound --dim 9 --radius 1 --norm 0.5 --epsilon {}": ["nan", "inf", "-1", "one"],
    "bound --dim 9 --radius 1 --norm 0.5 --cosine {}": ["nan", "inf", "-1", "1.5", "one"],
    "bound --norm 0.5 --epsilon 0.1 --sigma {}": NOT_POSITIVE,
    f"{CERTIFY} --samples {{}}": [*NOT_COUNTS, "1", HUGE],
    f"{CERTIFY} --alpha {{}}": [*NOT_POSITIVE, "1", "1e-320"],
    f"{CERTIFY} --cosine {{}}": ["nan", "inf", "-1", "1.5", "one"],
    f"{CERTIFY} --epsilon {{}}": ["nan", "inf", "-1", "one"],
    f"{CERTIFY} --items {{}}": NOT_COUNTS,
    f"{CERTIFY} --seed {{}}": ["nan", "-1", "1.5", "one"],
    f"{CERTIFY} --workers {{}}": [*NOT_COUNTS, HUGE],
    f"{CERTIFY} --pictures {{}}": ["nan", "-1", "1.5"],
    f"{CERTIFY} --cells {{}}": ["nan", "inf", "-1", "0", "1.5", "one"],
    f"{CERTIFY} --noise gaussian:{{}}": NOT_POSITIVE,
    f"{CERTIFY} --noise uniform:{{}}": NOT_POSITIVE,
    f"{CERTIFY} --bound clip:{{}}": NOT_POSITIVE,
    f"{CERTIFY} --map pooled:{{}}": [*NOT_COUNTS, HUGE],
    f"{CERTIFY} --device {{}}": ["quantum", "", "cuda:99", "meta:x"],
    f"{CERTIFY} --attribution {{}}": ["", "gradcam:nothing", "\x1b[2J"],
    f"{CERTIFY} --data photos?size={{}}": [*NOT_COUNTS, HUGE],
    "demo --samples 16 --out o --items {}": [*NOT_COUNTS, "301", HUGE],
    "demo --items 1 --samples 16 --out o --alpha {}": [*NOT_POSITIVE, "1", "1e-320"],
    "gate good --epsilon 0.1 --share 0.5 --cosine {}": ["nan", "inf", "-1", "1.5", "one"],
    "gate good --cosine 0.8 --share 0.5 --epsilon {}": ["nan", "inf", "-1", "one"],
    "gate good --cosine 0.8 --epsilon 0.1 --share {}": ["nan", "inf", "-1", "1.5", "one"],
    "gate good --cosine 0.8 --epsilon 0.1 --share 0.5 --confidence {}": ["nan", "0", "1", "1.5", "-1"],
    "compare good good --cosine {}": ["nan", "inf", "-1", "1.5", "one"],
    "attack good --cosine {}": ["nan", "inf", "-1", "1.5", "one"],
    "attack good --restarts {}": NOT_COUNTS,
    "verify good --resample {}": ["nan", "-1", "1.5", "one"],
    "train --out o.safetensors --epochs {}": [*NOT_COUNTS, HUGE],
    "train --out o.safetensors --batch {}": [*NOT_COUNTS, HUGE],
    "train --out o.safetensors --rate {}": [*NOT_POSITIVE, "1e308"],
    "train --out o.safetensors --decay {}": ["nan", "inf", "-1", "1e308"],
    "train --out o.safetensors --momentum {}": ["nan", "inf", "-1", "0", "1.5"],
    "train --out o.safetensors --seed {}": ["nan", "-1", HUGE],
    "train --out o.safetensors --objective noise --noise gaussian:{}": NOT_POSITIVE,
    "train --out o.safetensors --objective trades --beta {}": ["nan", "inf", "-1"],
    "train --out o.safetensors --objective trades --epsilon {}": ["nan", "inf", "-1"],
    "tune --items 1 --samples 16 --level {}": NOT_POSITIVE,
    "tune --items 1 --samples 16 --level 0.5 --cosine {}": ["nan", "inf", "-1", "1.5"],
    "tune --items 1 --samples 16 --level 0.5 --epsilon {}": ["nan", "inf", "-1"],
    "tune --items 1 --samples 16 --level 0.5 --alpha {}": [*NOT_POSITIVE, "1"],
    "paper table2 --quick --out o --alpha {}": [*NOT_POSITIVE, "1"],
    "paper table2 --quick --out o --items {}": NOT_COUNTS,
    "tolerance --model mnist-cnn-noise --data mnist-sample --change flip --items {} --out o": NOT_COUNTS,
}


@pytest.mark.parametrize("template", NUMBERS)
def test_numbers_that_are_none(template, place, capsys) -> None:
    for value in NUMBERS[template]:
        refused(typed(template, value), place, capsys)


def test_every_command_is_in_the_tables() -> None:
    commands = {command.name or command.callback.__name__ for command in cli.app.registered_commands}
    written = {template.split()[0] for template in (*READS, *WRITES, *NUMBERS)}
    assert commands <= written
