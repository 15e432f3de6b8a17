"""The trust mask: exactly the cells that are proved, told apart without colours, and live."""

import re

import msgspec
import numpy as np

from attribound.certificates.certificate import Certificate
from attribound.runs import Store
from attribound.runs.tasks import Outcome
from tests.report.conftest import copies, write_run
from tests.report.reading import report


def records(path) -> list[Certificate]:
    with Store.read(path) as store:
        return [Certificate(one) for one in store.records()]


def test_a_mask_marks_what_its_certificate_marks(celled) -> None:
    data = report(celled).data
    unit = 10 ** -data["scale"]["digits"]
    for row, certificate in enumerate(records(celled)):
        votes = data["details"][str(row)]["votes"]
        assert votes["shape"] == [7, 7]
        assert list(votes["fractions"]) == ["0.5", "0.3"]
        for fraction, signed in votes["fractions"].items():
            radii = np.ravel(certificate.cell_radius(float(fraction)))
            assert (np.abs(signed) * unit <= radii).all()
            assert (np.abs(signed) * unit > radii - 1.001 * unit).all()
            for stop in range(1, data["scale"]["count"], 7):
                units = stop * data["scale"]["step"]
                shown = np.where(np.abs(signed) >= units, np.sign(signed), 0)
                proved = np.ravel(certificate.cells(float(fraction), units * unit))
                assert ((shown == proved) | (shown == 0)).all()


def test_the_first_sentence_says_only_what_holds(celled, certified) -> None:
    page = report(celled)
    pattern = (
        r"For (\d) of 4 images \(\d of them classified correctly\), no change of size up to epsilon (\S+) alters the "
        r"smoothed model's class, turns the explanation by more than 37 degrees \(cosine 0\.8\), or moves any of the "
        r"(\d+) marked cells\."
    )
    count, epsilon, cells = re.search(pattern, page.text).groups()
    holding = [one for one in records(celled) if one.joint_epsilon(0.8) >= float(epsilon)]
    assert len(holding) == int(count) > 0
    assert sum(int((one.cells(0.5, float(epsilon)) != 0).sum()) for one in holding) == int(cells)
    plain = report(certified).text
    assert "marked cells" not in plain
    assert re.search(r"alters the smoothed model's class or turns the explanation by more than 37 degrees", plain)


def test_without_a_proved_class_nothing_is_said_about_it(synthesise, template) -> None:
    page = report(synthesise(copies(template[1], 4)))
    assert "smoothed model's class" not in page.text
    assert "together with the class" not in page.text
    assert re.search(r"no change of size up to epsilon \S+ can turn the explanation", page.text)


def test_counts_of_classes_agree_with_the_rows(celled) -> None:
    data = report(celled).data
    column = data["cosines"].index("0.8")
    for stop in range(data["scale"]["count"]):
        units = (stop + 1) * data["scale"]["step"]
        both = zip(data["rows"]["epsilon"], data["rows"]["held"], strict=True)
        assert data["counts"]["joint"][column][stop] == sum(min(row[column], held) >= units for row, held in both)


def test_features_carry_their_marks(celled, tmp_path) -> None:
    with Store.read(celled) as store:
        flat = [
            Outcome(
                one.item,
                msgspec.structs.replace(one, map_shape=(49,)),
                {"smoothed": store.pictures(one.item)["smoothed"].ravel()},
            )
            for one in store.records()
        ]
        config = store.config
    detail = report(write_run(tmp_path / "flat", config, flat)).data["details"]["0"]
    assert detail["votes"]["shape"] == [49]
    assert detail["features"]["of"] == 49
    assert len(detail["features"]["places"]) == len(detail["features"]["names"]) == 24
