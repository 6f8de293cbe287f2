"""The few things the log asks of a file system, and nothing else: so that tests can make each of them fail.

A file becomes visible only whole: it is written without a name (`O_TMPFILE`, else as `.tmp-...`), fsynced, and linked
to its name, which fails if the name is taken. Files are 0600, folders 0700.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from events import ambient
from events.errors import StoreFull

TEMPORARY = ".tmp-"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM)
_NO_TMPFILE = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT)


class Files:
    """The real file system. Every method is one step that a crash, an error or a pause can come before or after."""

    def names(self, folder: Path) -> list[str]:
        """The names in a folder, sorted; none where there is no folder."""
        try:
            return sorted(entry.name for entry in folder.iterdir())
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, path: Path) -> bytes:
        """All bytes of a file. Raises FileNotFoundError."""
        return path.read_bytes()

    def exists(self, path: Path) -> bool:
        """Whether there is such a file now. Any other answer of the file system is an error, never a no."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def make_folder(self, folder: Path) -> None:
        """The folder and its parents, each durable in its own parent."""
        if folder.is_dir():
            return
        self.make_folder(folder.parent)
        with _room():
            folder.mkdir(mode=0o700, exist_ok=True)
        self.fsync_folder(folder.parent)

    def link_new(self, folder: Path, name: str, content: bytes) -> bool:
        """Write, fsync and link `content` under a name that nobody has; False if somebody has it.

        Raises FileNotFoundError when the folder is gone, StoreFull when there is no room: then nothing was written.
        """
        with self._unnamed(folder) as (descriptor, source):
            with _room():
                _write_all(descriptor, content)
                self.fsync(descriptor)
            return self._link(descriptor, source, folder / name)

    def _link(self, descriptor: int, source: Path | None, target: Path) -> bool:
        try:
            if source is None:
                # any descriptor makes Python ask for linkat, which does not look at it, because this path is absolute
                os.link(f"/proc/self/fd/{descriptor}", target, src_dir_fd=descriptor, follow_symlinks=True)
            else:
                os.link(source, target)
        except FileExistsError:
            return False
        except OSError as error:
            raise _translated(error) from error
        return True

    @contextmanager
    def _unnamed(self, folder: Path) -> Iterator[tuple[int, Path | None]]:
        """A descriptor to write to, and its temporary name where the file system needs one."""
        descriptor, source = self._open_unnamed(folder)
        try:
            yield descriptor, source
        finally:
            os.close(descriptor)
            if source is not None:
                with suppress(FileNotFoundError):
                    source.unlink()

    def _open_unnamed(self, folder: Path) -> tuple[int, Path | None]:
        try:
            return os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), None
        except OSError as error:
            if error.errno not in _NO_TMPFILE or not folder.is_dir():
                raise _translated(error) from error
        source = folder / f"{TEMPORARY}{ambient.new_id()}"
        with _room():
            return os.open(source, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600), source

    def unlink(self, path: Path) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            path.unlink()

    def fsync(self, descriptor: int) -> None:
        """Make a file's bytes durable."""
        os.fsync(descriptor)

    def fsync_folder(self, folder: Path) -> None:
        """Make the names in a folder durable."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            self.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _translated(error: OSError) -> Exception:
    if error.errno in _NO_ROOM:
        return StoreFull(f"the file system refused to write: {error.strerror} ({error.filename or 'no name'}); nothing was half-written")
    return error


@contextmanager
def _room() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _translated(error) from error
