"""Text files as people have them: in UTF-8, UTF-16 or GB18030, perhaps packed with gzip; told, never guessed silently."""

import codecs
import gzip
import logging
import re
import zlib
from functools import cache
from io import BytesIO
from pathlib import Path

from crt.errors import DataError
from crt.files import is_file, no_such

log = logging.getLogger(__name__)

LARGEST = 1 << 30
"""Bytes that a packed file may unpack to: a small one can be made that would fill any memory."""

MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark is the beginning of this one
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""The encoding that a byte-order mark stands for."""

HAN = re.compile("[\\u3000-\\u9fff\\uff00-\\uffef]")
"""A Chinese character or punctuation mark."""


def read_text(path: Path) -> str:
    """Return what a text file holds, without a byte-order mark; a name that ends in `.gz` is unpacked.

    Raises:
        DataError: there is no such file, it cannot be read, is empty, or is no text; the message names the line.
    """
    if not is_file(path):
        raise DataError(no_such(path))
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    text = decoded(_unpacked(data, path) if path.suffix.lower() == ".gz" else data, str(path))
    if not text.strip():
        raise DataError(f"{path}: is empty")
    return text


def decoded(data: bytes, name: str) -> str:
    """Return bytes as text; an encoding other than UTF-8 is told.

    Args:
        data: of a file, or of what stands in its place.
        name: of the file, for messages.

    Raises:
        DataError: the bytes are of no encoding that is known, or of two, or no text.
    """
    encoding = next((MARKS[mark] for mark in MARKS if data.startswith(mark)), None) or _without_mark(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise DataError(f"{_place(error, name)} is not {_shown(encoding)}; save the file as UTF-8") from error
        encoding, text = "gb18030", _gb18030(data, name, error)
    if not encoding.startswith("utf-8"):
        _tell(name, encoding)
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise DataError(f"{name}, line {line}: holds a NUL character; this is no text file")
    return text


def _without_mark(data: bytes) -> str:
    """Return UTF-16 for bytes that have line ends in one order of its bytes and not in the other, else UTF-8."""
    fits = [name for name in ("utf-16-le", "utf-16-be") if b"\0" in data and _is_text(data, name)]
    return fits[0] if len(fits) == 1 else "utf-8"


def _is_text(data: bytes, encoding: str) -> bool:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return "\n" in text and "\0" not in text and "\u0a00" not in text  # that is a line end in the other order


def _gb18030(data: bytes, name: str, fault: UnicodeDecodeError) -> str:
    """Return bytes that are not UTF-8 as GB18030, in which almost any bytes are some text: this one must be Chinese."""
    first = next((n for n, line in enumerate(data.split(b"\n"), start=1) if _is_chinese(line)), None)
    if first is not None:
        raise DataError(
            f"{_place(fault, name)} is not UTF-8, but line {first} is: the file is damaged or mixes two encodings; "
            "save it as UTF-8"
        )
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError as error:
        raise DataError(f"{_place(error, name)} is neither UTF-8 nor GB18030; save the file as UTF-8") from error
    wide = "".join(character for character in text if not character.isascii())
    if len(wide.encode("gb2312", "ignore")) < len(
        wide
    ):  # half of them, in two bytes each: traditional texts have 7 in 10
        raise DataError(
            f"{_place(fault, name)} is not UTF-8, and as GB18030 the file is no Chinese (it may be Big5); save it as UTF-8"
        )
    return text


def _is_chinese(line: bytes) -> bool:
    """Return whether a line is UTF-8 and has Chinese in it."""
    try:
        return HAN.search(line.decode()) is not None
    except UnicodeDecodeError:
        return False


def _place(error: UnicodeDecodeError, name: str) -> str:
    """Return the file, the line and the byte of an error."""
    before = error.object[: error.start].decode(error.encoding, "ignore")
    return f"{name}, line {before.count(chr(10)) + 1}: byte 0x{error.object[error.start]:02x}"


@cache
def _tell(name: str, encoding: str) -> None:
    """Say once how a file is read: it is read several times."""
    log.info("%s is read as %s: it is not UTF-8", name, _shown(encoding))


def _shown(encoding: str) -> str:
    return encoding.removesuffix("-le").removesuffix("-be").removesuffix("-sig").upper()


def _unpacked(data: bytes, path: Path) -> bytes:
    found = bytearray()
    try:
        with gzip.open(BytesIO(data)) as file:
            while part := file.read1(1 << 20):
                found += part
                if len(found) > LARGEST:
                    raise DataError(f"{path}: unpacks to more than {LARGEST:,} bytes; unpack it, and give a part of it")
    except (OSError, EOFError, zlib.error) as error:
        line = found.count(b"\n") + 1
        raise DataError(
            f"{path}, line {line}: damaged, it cannot be unpacked beyond this line ({error}); pack it again"
        ) from error
    return bytes(found)
