"""The paper's tables and figures, one file each: its numbers beside ours."""

from attribound.paper.attacks import Attacks
from attribound.paper.counterexamples import Counterexamples
from attribound.paper.experiment import Experiment, conduct
from attribound.paper.figures import Figure1, Figure3
from attribound.paper.gridpg import GridPg
from attribound.paper.montecarlo import MonteCarlo
from attribound.paper.settings import Settings
from attribound.paper.table import Table
from attribound.paper.table1 import Table1
from attribound.paper.table2 import Table2
from attribound.paper.table3 import Table3, Table7
from attribound.paper.table4 import Table4
from attribound.paper.table5 import Table5, Table6
from attribound.paper.table8 import Figure2, Table8
from attribound.paper.table9 import Table9

_TABLES = Table1(), Table2(), Table3(), Table4(), Table5(), Table6(), Table7(), Table8(), Table9()
_OTHERS = Figure1(), Figure2(), Figure3(), GridPg(), MonteCarlo(), Attacks(), Counterexamples()
EXPERIMENTS: dict[str, Experiment] = {experiment.name: experiment for experiment in (*_TABLES, *_OTHERS)}

__all__ = ["EXPERIMENTS", "Experiment", "Settings", "Table", "conduct"]
