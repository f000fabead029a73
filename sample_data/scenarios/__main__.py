"""Writes all scenarios and their index: `python -m sample_data.scenarios`."""

import json

from sample_data.generate import write
from sample_data.scenarios import DATA, INDEX, SCENARIOS, seeded


def main() -> None:
    """Write one compressed file a scenario, and the index that the dashboard reads."""
    DATA.mkdir(exist_ok=True)
    index = []
    for each in SCENARIOS:
        made = list(each.lines(seeded(each.NAME)))
        write(DATA / f"{each.NAME}.jsonl.zst", iter(made))
        runs = [line["run"] for line in made if line.get("type") == "run"]
        index.append({"name": each.NAME, "title": each.TITLE, "summary": each.SUMMARY, "runs": runs})
    INDEX.write_text(json.dumps(index, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
