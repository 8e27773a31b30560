"""Text of images, by Tesseract where the system has it: `apt-get install tesseract-ocr`.

The library is called through its C interface, inside the worker: no other process is started.
Format: https://tesseract-ocr.github.io/tessapi/5.x/a02438.html.
"""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

LIBRARIES = ("libtesseract.so.5", "libtesseract.so.4", "libtesseract.5.dylib")
DATA = "/usr/share/tesseract-ocr /usr/share/tessdata /usr/local/share /opt/homebrew/share".split()
MAX_LANGUAGES = 4  # that are tried at once: each makes it slower
DPI = 200
MAX_PIXELS = 20_000_000  # of an image


class Tesseract(NamedTuple):
    """The library, the folder with its languages, and their names."""

    library: Any
    folder: str
    languages: tuple[str, ...]


@cache
def find_tesseract() -> Tesseract | None:
    """The library and its languages; None where one of them is missing."""
    files = sorted(file for folder in DATA for file in Path(folder).rglob("*.traineddata"))
    languages = sorted({file.stem for file in files} - {"osd"}, key=lambda name: name != "eng")
    if not languages:
        return None
    os.putenv("OMP_THREAD_LIMIT", "1")  # a worker may start no thread
    for name in LIBRARIES:
        with suppress(OSError):
            library = ctypes.CDLL(name)
            library.TessBaseAPICreate.restype = ctypes.c_void_p
            library.TessBaseAPIGetUTF8Text.restype = ctypes.c_void_p
            return Tesseract(library, str(files[0].parent), tuple(languages[:MAX_LANGUAGES]))
    return None


class ImageReader:
    """Reads the text of the images of one document."""

    def __init__(self, tesseract: Tesseract) -> None:
        """Raises OSError where the library does not start."""
        self._library = tesseract.library
        self._handle = ctypes.c_void_p(self._library.TessBaseAPICreate())
        folder, languages = tesseract.folder.encode(), "+".join(tesseract.languages).encode()
        if self._library.TessBaseAPIInit3(self._handle, folder, languages):
            raise OSError("tesseract does not start")
        self._library.TessBaseAPISetVariable(self._handle, b"debug_file", b"/dev/null")

    def read(self, bitmap: Any) -> str:
        """The text of a grey bitmap of PDFium."""
        layout = bitmap.width, bitmap.height, 1, bitmap.stride
        self._library.TessBaseAPISetImage(self._handle, ctypes.byref(bitmap.buffer), *layout)
        self._library.TessBaseAPISetSourceResolution(self._handle, DPI)
        text = ctypes.c_void_p(self._library.TessBaseAPIGetUTF8Text(self._handle))
        if not text:
            return ""
        try:
            return ctypes.string_at(text.value or 0).decode("utf-8", "replace")
        finally:
            self._library.TessDeleteText(text)


def render_page(page: Any) -> Any:
    """A page of PDFium as a grey bitmap; a large one in a lower resolution."""
    width, height = page.get_size()
    scale = DPI / 72
    most = (MAX_PIXELS / max(1.0, width * height)) ** 0.5
    return page.render(scale=min(scale, most), grayscale=True)
