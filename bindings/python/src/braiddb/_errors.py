"""What braiddb raises. The names without a comment are plyvel's; the others are more specific, and an
`except` that was written for plyvel gets them too."""

import builtins


class Error(Exception):
    """Any error of the store."""


class IOError(Error, builtins.IOError):
    """The operating system or the medium refused."""


class CorruptionError(Error):
    """Bytes in the pool are not what was written; the message names file and offset."""


class IteratorInvalidError(Error):
    """A raw iterator was asked for an entry where it stands on none."""


class NotFoundError(IOError, FileNotFoundError):
    """There is no pool at the path."""


class OutOfSpaceError(IOError):
    """Pool or filesystem full; reads and deletes go on."""


class BusyError(IOError):
    """Another handle or process has the pool open; the message names the process."""


class InvalidArgumentError(Error, ValueError):
    """A key, value, option or path is outside a limit, which the message names."""


class NotSupportedError(Error, NotImplementedError):
    """The design of the pool lacks this, or it is opened read-only."""


class ClosedError(Error, RuntimeError):
    """Use after close, which plyvel tells by a RuntimeError."""


class OutOfMemoryError(Error, MemoryError):
    """The process got no memory; what was acknowledged is still there."""
