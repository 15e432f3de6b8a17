"""Column records of forests with several yes-or-no answers."""

import numpy as np
import xgboost

from attribound.certificates.subject import Subject
from attribound.forests import Forest, TreeShap, tolerance
from attribound.tolerances.columns.again import search_again
from attribound.tolerances.columns.asker import ColumnsAsker
from attribound.tolerances.columns.attack import ColumnsAttack
from attribound.tolerances.columns.record import Asked
from attribound.tolerances.columns.verify import problems


def test_the_answer_that_is_explained_is_the_one_predicted(tmp_path):
    """The first one's answer was stated, attacked and searched again for all of them; here one is yes and one no."""
    x = np.random.default_rng(0).normal(size=(200, 3))
    options = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    booster = xgboost.train(options, xgboost.DMatrix(x, np.stack([x[:, 0] > 0, x[:, 0] < 0], axis=1)), 5)
    booster.save_model(tmp_path / "several.json")
    shap, row = TreeShap(Forest(tmp_path / "several.json")), np.array([2.0, 0.1, 0.1])
    assert [tolerance(shap, row, scale=np.ones(3), target=target).prediction for target in (0, 1)] == [1, 0]
    subject = Subject(model="several.json", model_sha256=shap.forest.sha256)
    record = ColumnsAsker(shap, Asked(units=(1.0, 1.0, 1.0)), target=1, subject=subject).ask(row)
    assert (record.target, record.prediction) == (1, 0)
    assert problems(record) == []
    assert search_again(record, shap) == []
    (finding,) = ColumnsAttack(shap, count=64)(record)
    assert finding.points > 0
    assert finding.breaks is None
