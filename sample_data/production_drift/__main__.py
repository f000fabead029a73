"""Writes the file again: `python -m sample_data.production_drift`."""

from sample_data.generate import write
from sample_data.production_drift import DATA, lines

if __name__ == "__main__":
    write(DATA, lines())
