"""Where the bundled sample data lies: in the repository, or inside the installed package."""

from pathlib import Path

from ingest.errors import UnrecognisedError


def sample_data() -> Path:
    """Folder of the sample data.

    Raises:
        UnrecognisedError: It was not installed.
    """
    here = Path(__file__).parent
    for folder in (here.parent / "sample_data" / "finqa", here / "sample_data" / "finqa"):
        if folder.is_dir():
            return folder
    raise UnrecognisedError("the sample data is not installed; get it from the repository, folder sample_data/")
