"""Everything attribound raises on purpose: one root, a few leaves that also inherit a builtin."""


class AttriboundError(Exception):
    """Root of all errors raised by attribound."""


class AttriboundWarning(UserWarning):
    """Something is probably not meant, but may be."""


class ArgumentError(AttriboundError, ValueError):
    """An argument is outside what the function accepts."""


class NonFiniteError(AttriboundError, ArithmeticError):
    """An attribution contained NaN or infinity, so its average means nothing."""


class LimitError(AttriboundError, ArithmeticError):
    """A draw was longer than the limit that was claimed for its field."""


class FieldError(AttriboundError, TypeError):
    """A model or attribution method does not behave as a field must."""


class StoredDataError(AttriboundError, ValueError):
    """A stored file is not what it claims to be."""


class UnfitError(ArgumentError):
    """An attack does not fit what it is asked to attack; others may."""
