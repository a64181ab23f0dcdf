"""Two files of a directory change their places in one step, where the system can do that."""

import ctypes
import errno
import os
from functools import cache
from typing import Any, Final

RENAME_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EPERM)


def exchange(name: str, other: str, directory: int) -> bool:
    """Exchange two files of an opened directory, and say whether that was one step.

    Where it cannot be, `name` takes the place of `other`, which is gone. Raises OSError.
    """
    call = _renameat2()
    if call is not None:
        names = (os.fsencode(name), os.fsencode(other))
        if call(directory, names[0], directory, names[1], RENAME_EXCHANGE) == 0:
            return True
        number = ctypes.get_errno()
        if number not in _UNSUPPORTED:
            raise OSError(number, os.strerror(number), other)
    os.rename(name, other, src_dir_fd=directory, dst_dir_fd=directory)
    return False


@cache
def _renameat2() -> Any:
    """Return the function of the C library; None where there is none."""
    try:
        function: Any = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    text, number = ctypes.c_char_p, ctypes.c_int
    function.argtypes = (number, text, number, text, ctypes.c_uint)
    function.restype = number
    return function
