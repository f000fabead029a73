"""Published case studies of agent fine-tuning, as synthetic data: one module each, seeded, with what it plants.

Nothing in them is real, and nobody is named: only the published shape is kept (how far a number moved, what vanished,
what went wrong). Each module has `NAME`, `TITLE`, `SUMMARY`, `PLANTED` (the facts, as data: the tests compare what
questions answer with them) and `lines(rng)`. `python -m sample_data.scenarios` writes all of them again.
"""

from pathlib import Path
from types import ModuleType
from typing import Final

import numpy as np

from sample_data.scenarios import (
    enterprise_coding,
    file_selection,
    financial_research,
    gpu_kernels,
    medical_coding,
    repository_research,
    slides,
    underwriting,
)
from sample_data.scenarios.chance import Rng

SEED: Final = 20_260_407
SCENARIOS: Final[tuple[ModuleType, ...]] = (
    file_selection,
    repository_research,
    enterprise_coding,
    gpu_kernels,
    medical_coding,
    slides,
    financial_research,
    underwriting,
)
DATA: Final = Path(__file__).parent / "data"
INDEX: Final = Path(__file__).parent / "index.json"
"""What the dashboard offers: name, title, one line and runs of every scenario."""


def seeded(name: str) -> Rng:
    """The random numbers of a scenario: the same every time, whatever the others draw."""
    return np.random.default_rng([SEED, *name.encode()])
