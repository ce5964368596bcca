"""Write docs/data/measured.json, the committed summary that the pages show where no report is at hand.

    python docs/write_measured.py [reports/latest/report.json]
"""

import json
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "_ext"))

from readalong.measured import REPORT, SNAPSHOT  # noqa: E402
from readalong.summary import summarise  # noqa: E402


def write_measured(report=REPORT, snapshot=SNAPSHOT):
    summary = summarise(json.loads(Path(report).read_text(encoding="utf-8")))
    snapshot.write_text(json.dumps(summary, indent=1, allow_nan=True, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{snapshot}: {len(summary['cases'])} cases")


if __name__ == "__main__":
    write_measured(*map(Path, sys.argv[1:2]))
