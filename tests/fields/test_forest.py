"""SHAP values of forests under noise: the library's own values, columns that do not move, missing cells."""

import numpy as np
import pytest
import torch
from sklearn import ensemble

import attribound as ab
from attribound.errors import ArgumentError, FieldError, UnfitError

ROWS = np.random.default_rng(0).normal(size=(300, 4))
ROWS[:, 3] = np.round(ROWS[:, 3])
LABELS = (ROWS[:, 0] + ROWS[:, 1] * ROWS[:, 2] + ROWS[:, 3] > 0).astype(int)
SCALE = [1.0, 1.0, 1.0, 0.0]
FEW = {"noise": ab.Gaussian(0.5, scale=SCALE), "samples": 128, "seed": 0}


@pytest.fixture(scope="module")
def forest() -> ab.Forest:
    return ab.Forest(
        ensemble.GradientBoostingClassifier(n_estimators=20, max_depth=3, random_state=0).fit(ROWS, LABELS)
    )


def row(number: int = 0) -> torch.Tensor:
    return torch.tensor(ROWS[number])


def test_a_forest_is_certified_with_its_reasons(forest: ab.Forest) -> None:
    field = ab.Unit(ab.TreeShap(forest))
    certificate = ab.certify(field, row(), reasons=2, features=forest.names, **(FEW | {"samples": 1024}))
    margin = ab.TreeShap(forest).scores(ROWS[:1])[0, 0]
    assert certificate.prediction == int(margin > 0)
    assert certificate.record.attribution == "treeshap"
    assert certificate.record.model_sha256 == forest.sha256
    assert certificate.max_epsilon(0.5) > 0
    assert len(certificate.record.stated_reasons) == 2
    assert not field.needs_gradients


def test_the_map_is_the_mean_of_the_librarys_values(forest: ab.Forest) -> None:
    """Of a yes or no, what speaks for yes speaks against no."""
    explainer = ab.TreeShap(forest)
    maps = ab.Unit(explainer).base.explain(torch.tensor(ROWS), 1)
    np.testing.assert_array_equal(maps.maps.numpy(), explainer.values(ROWS)[:, 0])
    np.testing.assert_array_equal(-maps.maps, ab.Unit(explainer).base.explain(torch.tensor(ROWS), 0).maps)
    np.testing.assert_allclose(maps.logits[:, 1] - maps.logits[:, 0], explainer.scores(ROWS)[:, 0], rtol=1e-12)


def test_a_column_with_unit_0_does_not_move(forest: ab.Forest) -> None:
    seen, explainer = [], ab.TreeShap(forest)
    field = ab.Unit(explainer)
    inner, values = field.base, explainer.values
    inner.explainer = type("Watched", (), {"values": lambda self, rows: seen.append(rows) or values(rows),
                                           "scores_from": staticmethod(explainer.scores_from)})()  # fmt: skip
    ab.certify(field, row(), **FEW)
    assert len(seen) > 5
    assert all((rows[:, 3] == ROWS[0, 3]).all() for rows in seen)


def test_every_class_has_its_own_values() -> None:
    labels = np.digitize(ROWS[:, 0], [-0.5, 0.5])
    model = ensemble.GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(ROWS, labels)
    explainer = ab.TreeShap(ab.Forest(model))
    targets = torch.tensor([0, 1, 2, 1])
    maps = ab.Unit(explainer).base.explain(torch.tensor(ROWS[:4]), targets)
    np.testing.assert_array_equal(maps.maps.numpy(), explainer.values(ROWS[:4])[np.arange(4), targets.numpy()])
    certificate = ab.certify(ab.Unit(explainer), row(), **FEW)
    assert certificate.prediction == int(explainer.scores(ROWS[:1]).argmax())


def test_missing_cells_stay_missing() -> None:
    rows = ROWS.copy()
    rows[::3, 1] = np.nan
    model = ensemble.HistGradientBoostingClassifier(max_iter=10, random_state=0).fit(rows, LABELS)
    explainer = ab.TreeShap(ab.Forest(model))
    certificate = ab.certify(ab.Unit(explainer), torch.tensor(rows[0]), **FEW)
    assert np.isnan(rows[0, 1])
    assert certificate.norm_lower > 0


def test_columns_in_another_order_are_refused(forest: ab.Forest) -> None:
    named = forest.renamed([f"measure {number}" for number in range(len(forest.names))])
    names = (named.names[1], named.names[0], *named.names[2:])
    with pytest.raises(ArgumentError, match="expected the columns in the model's order"):
        ab.certify(ab.Unit(ab.TreeShap(named)), row(), features=names, **FEW)


def test_what_does_not_fit_is_said_in_a_line(forest: ab.Forest) -> None:
    with pytest.raises(FieldError, match=r"expected a field with a limit, e.g. Unit\(TreeShap\(...\)\)"):
        ab.certify(ab.TreeShap(forest), row(), **FEW)
    with pytest.raises(FieldError, match="expected a field such as Saliency"):
        ab.Unit(forest)
    with pytest.raises(UnfitError, match="treeshap has no gradients; without gradients there are likelihood"):
        ab.attack(ab.TreeShap(forest), row(), noise=FEW["noise"], epsilon=0.1, method="direct", rescore_samples=32)
    found = ab.attack(ab.TreeShap(forest), row(), noise=FEW["noise"], epsilon=0.5, method="random", steps=3, samples=16,
                      rescore_samples=64)  # fmt: skip
    assert 0 < found.length <= 0.5
    assert float(found.delta[3]) == 0.0
