"""Writes the file again: `python -m sample_data.training_health`."""

from sample_data.generate import write
from sample_data.training_health import DATA, lines

if __name__ == "__main__":
    write(DATA, lines())
