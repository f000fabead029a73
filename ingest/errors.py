"""The one exception tree of the project.

Every message is one line that says what happened and what to do about it. Nothing else leaves a package.

    ObservatoryError
    ├── SourceError            a file or folder cannot be read as what it was taken for
    │   ├── UnrecognisedError  no source recognises it
    │   └── UnreadableError    it is recognised, but broken as a whole (a bad record is a reject, not an error)
    ├── ServiceError           an API did not answer as documented
    │   └── GoneError          the service has closed this endpoint
    ├── StoreError             the store cannot be opened, written or trusted
    │   ├── StoreEmptyError    there is no store, or nothing in it
    │   └── SnapshotError      a pinned snapshot is no longer there
    └── QuestionError          a question was asked with parameters it does not take, or that do not fit
"""


class ObservatoryError(Exception):
    """Base of everything this project raises on purpose."""


class SourceError(ObservatoryError):
    """A file or folder cannot be read as what it was taken for."""


class UnrecognisedError(SourceError):
    """No source recognises the file; the message names the nearest formats."""


class UnreadableError(SourceError):
    """The file is recognised but broken as a whole."""


class ServiceError(ObservatoryError):
    """An API did not answer as documented."""


class GoneError(ServiceError):
    """The service has closed this endpoint; the message names the saved-file route."""


class StoreError(ObservatoryError):
    """The store cannot be opened, written or trusted."""


class StoreEmptyError(StoreError):
    """There is no store at the given place, or nothing has been published in it."""


class SnapshotError(StoreError):
    """A pinned snapshot, or a file of it, is no longer there."""


class QuestionError(ObservatoryError):
    """A question was asked with parameters it does not take, or that do not fit together."""
