"""A statement of another package: one file and one call, and it is asked for, stored, checked and shown everywhere."""

import json
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from attribound.certificates.record import Record, encode
from tests.report.reading import Page

FILE = '''
"""How often a cell of the map is positive under the noise."""
from dataclasses import dataclass

from attribound.bounds.facts import Fact, Numbers
from attribound.bounds.proportions import proportion_lower
from attribound.bounds.shares import SHARES
from attribound.certificates.statements.base import Option, Statement
from attribound.certificates.statements.registry import register_statement
from attribound.rounding import round_down


@dataclass(frozen=True)
class Positive(Fact):
    cell: Numbers
    count: Numbers
    tested: Numbers
    alpha: Numbers
    name = "positive"

    @property
    def spent(self):
        return float(self.alpha)


class OftenPositive(Statement):
    name = "positive"
    option = Option("Certify how often a cell of the map is positive.", "CELL")
    facts = (Positive,)

    def __init__(self, cell):
        self.cell = cell

    @classmethod
    def parse(cls, text):
        return int(text)

    @classmethod
    def ask(cls, value, asking):
        return cls(int(value))

    def statistics(self):
        from attribound.sampling.statistic import Statistic

        class CountPositive(Statistic):
            fact, share = Positive, SHARES["positive"]

            def start(one, pilot, setting):
                one.count, one.tested = 0, 0

            def add(one, draws):
                one.count += int((draws.maps[:, self.cell] >= 0).sum())
                one.tested += len(draws.maps)

            def prove(one, alpha, known):
                return Positive(float(self.cell), float(one.count), float(one.tested), alpha)

        return [CountPositive()]

    @classmethod
    def share(cls, certificate):
        fact = certificate.evidence.fact(Positive)
        return float(proportion_lower(fact.count, fact.tested, fact.alpha))

    @classmethod
    def answer(cls, certificate, epsilons, cosines):
        return {"share": cls.share(certificate)}

    @classmethod
    def problems(cls, certificate):
        stated = certificate.record.stated_answers.get("positive")
        fits = stated is None or stated["share"] <= cls.share(certificate) + 1e-9
        return [] if fits else ["states a larger share of positive draws than were counted"]

    @classmethod
    def asked(cls, certificate):
        return int(certificate.evidence.fact(Positive).cell)

    @classmethod
    def words(cls, certificate):
        return {"positive draws": f"at least {round_down(cls.share(certificate))} of all"}


register_statement(OftenPositive, shares={"positive": 0.05})
'''

USE = """
import own_statement
from attribound.cli.app import run

for words in {commands!r}:
    print("exit", run(words), flush=True)
"""


def use(folder: Path, *commands: list[str]) -> str:
    """What the command line answers where the other package was imported before."""
    (folder / "own_statement.py").write_text(FILE)
    code = USE.format(commands=list(commands))
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def certified(tmp_path_factory) -> tuple[Path, str]:
    """The folder of a run that makes the statement, and what the command line said."""
    folder = tmp_path_factory.mktemp("outside")
    run = ["--model", "mnist-cnn-noise", "--data", "mnist-sample", "--noise", "gaussian:0.5", "--samples", "256"]
    certify = ["certify", *run, "--items", "2", "--positive", "400", "--workers", "1", "--out", "run"]
    return folder, use(folder, certify, ["show", "run"], ["verify", "run"], ["report", "run"])


def test_a_statement_from_outside_is_one_file_and_one_call(certified) -> None:
    folder, said = certified
    assert said.count("exit 0") == 4, said
    stored = records(folder / "run")
    shares = [record["answers"]["positive"]["share"] for record in stored]
    assert all(0 < share <= 1 for share in shares)
    assert "positive draws: at least 0." in said, "the console says it"
    page = Page(folder / "run" / "report.html")
    assert [detail["said"]["positive draws"][:11] for detail in page.data["details"].values()] == ["at least 0."] * 2
    assert "--ask positive=400" in page.text, "the command that repeats the run asks for it, imported before or not"


def test_verify_derives_its_answer_anew(certified, tmp_path) -> None:
    shutil.copytree(certified[0] / "run", tmp_path / "run")
    with sqlite3.connect(tmp_path / "run" / "run.sqlite") as connection:
        (text,) = connection.execute("SELECT record FROM records WHERE item = 0").fetchone()
        record = msgspec.json.decode(text, type=Record)
        forged = msgspec.structs.replace(record, answers={"positive": {"share": 1.0}})
        connection.execute("UPDATE records SET record = ? WHERE item = 0", (encode(forged).decode(),))
    said = use(tmp_path, ["verify", "run"])
    assert "exit 1" in said
    assert "item 0: states more than follows from its evidence" in said


def records(run: Path) -> list[dict]:
    with closing(sqlite3.connect(run / "run.sqlite")) as connection:
        return [json.loads(text) for (text,) in connection.execute("SELECT record FROM records ORDER BY item")]
