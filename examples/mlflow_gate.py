"""Certified explanations beside the other metrics of a model in MLflow: certify, judge, log numbers and page.

`python examples/mlflow_gate.py [STORE]`. The client alone is enough: pip install mlflow-skinny. STORE is any tracking
address; default: files in ./mlruns. Exit code 1 if the gate is closed, as in a pipeline.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("MLFLOW_ALLOW_FILE_STORE", "true")  # the light client has no database; yours may be a server

import mlflow

RUN = ["--model", "mnist-cnn-noise", "--data", "mnist-sample", "--noise", "gaussian:0.5", "--samples", "256"]
GATE = ["--cosine", "0.8", "--epsilon", "0.25", "--share", "0.5"]


def attribound(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command as typed; its exit code and what it prints."""
    command = [sys.executable, "-m", "attribound", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def main() -> int:
    """Certify ten digits and log what the gate says."""
    mlflow.set_tracking_uri(sys.argv[1] if len(sys.argv) > 1 else "file:./mlruns")
    mlflow.set_experiment("explanations")
    with tempfile.TemporaryDirectory() as folder, mlflow.start_run(run_name="certified explanations"):
        run, page = Path(folder) / "run", Path(folder) / "report.html"
        done = attribound("certify", *RUN, "--items", "10", "--out", str(run))
        if done.returncode:
            sys.exit(done.stderr)
        judged = attribound("gate", str(run), *GATE, "--json")
        gate = json.loads(judged.stdout)
        attribound("report", str(run), "--out", str(page))
        mlflow.log_params({"noise": "gaussian:0.5", "samples": 256, "cosine": 0.8, "epsilon": 0.25})
        mlflow.log_metrics({"certified share": gate["share"], "fidelity": gate["fidelity"], "passed": gate["passed"]})
        mlflow.log_artifact(str(page))
        print(gate["sentences"][0])
        return judged.returncode


if __name__ == "__main__":
    sys.exit(main())
