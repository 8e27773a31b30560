"""Text of images, by Tesseract where the system has it: `apt-get install tesseract-ocr`.

The library is called through its C interface, inside the worker: no other process is started.
Format: https://tesseract-ocr.github.io/tessapi/5.x/a02438.html.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from agent.documents.body_text import Body, BodyText, PlacedText, UnreadablePage

LIBRARIES = ("libtesseract.so.5", "libtesseract.so.4", "libtesseract.5.dylib")
LEPTONICA = ("liblept.so.5", "libleptonica.so.6", "liblept.5.dylib", "libleptonica.6.dylib")
DATA = "/usr/share/tesseract-ocr /usr/share/tessdata /usr/local/share /opt/homebrew/share".split()
MAX_LANGUAGES = 4  # that are tried at once: each makes it slower
DPI = 200
AUTOMATIC = 3  # how a page is divided: into columns and blocks, upright or on their side
MAX_PIXELS = 20_000_000  # of a page
MAX_PICTURE = 60_000_000  # pixels of a picture,
MAX_PICTURES = 1000  # and pictures of a file
#: Of 100: below it Tesseract's mean word is noise. Of real scans it is 80 to 96, upside down and of
#: photographs at most 50. Run tests/documents/test_formats.py after changing it.
MIN_SURE = 60
NOISE = "no legible text was recognised on them"
REMEDY = "install tesseract-ocr to read them"
TIFF = (b"II*\0", b"MM\0*")


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
        self._library.TessBaseAPISetPageSegMode(self._handle, AUTOMATIC)

    def read_page(self, page: Any) -> str | None:
        """The text of a page of PDFium; None where it is noise."""
        width, height = page.get_size()
        scale = min(DPI / 72, (MAX_PIXELS / max(1.0, width * height)) ** 0.5)

        def show(turned: int) -> None:
            bitmap = page.render(scale=scale, rotation=turned, grayscale=True)
            layout = bitmap.width, bitmap.height, 1, bitmap.stride
            self._library.TessBaseAPISetImage(self._handle, ctypes.byref(bitmap.buffer), *layout)
            self._library.TessBaseAPISetSourceResolution(self._handle, DPI)

        return self._recognize(show)

    def read_picture(self, picture: Any, leptonica: Any) -> str | None:
        """The text of a picture of Leptonica; None where it is noise."""

        def show(turned: int) -> None:
            upright = ctypes.c_void_p(leptonica.pixRotateOrth(picture, turned // 90))
            self._library.TessBaseAPISetImage2(self._handle, upright)
            leptonica.pixDestroy(ctypes.byref(upright))  # Tesseract has a copy

        return self._recognize(show)

    def _recognize(self, show: Callable[[int], None]) -> str | None:
        """The text of what is shown, or of the same upside down; None where neither is text.

        Tesseract finds by itself that lines go up or down.
        """
        text = ""
        for turned in (0, 180):
            show(turned)
            text = self._read_text()
            sure = self._library.TessBaseAPIMeanTextConf(self._handle)
            if not text.strip() or sure >= MIN_SURE:
                return text
        return None

    def _read_text(self) -> str:
        text = ctypes.c_void_p(self._library.TessBaseAPIGetUTF8Text(self._handle))
        if not text:
            return ""
        try:
            return ctypes.string_at(text.value or 0).decode("utf-8", "replace")
        finally:
            self._library.TessDeleteText(text)


def read_picture(source: Body) -> BodyText:
    """The text of a PNG, JPEG or TIFF, a page each. Raises UnreadablePage where it has none."""
    tesseract, leptonica = find_tesseract(), _find_leptonica()
    if not (tesseract and leptonica):
        raise UnreadablePage(f"it is a picture: {REMEDY}", "unsupported")
    text, reader = PlacedText(source), ImageReader(tesseract)
    for number, picture in enumerate(_read_pictures(source.data, leptonica), 1):
        read = reader.read_picture(picture, leptonica)
        text.lose("pages", read is None, NOISE)
        text.add(read or "", f"page {number}")
        text.hand_over()
    return text.finish()


def _find_leptonica() -> Any:
    """The library that decodes pictures, which Tesseract brings; None where it is missing."""
    for name in LEPTONICA:
        with suppress(OSError):
            library = ctypes.CDLL(name)
            for function in ("pixReadMem", "pixReadMemFromMultipageTiff", "pixRotateOrth"):
                getattr(library, function).restype = ctypes.c_void_p
            return library
    return None


def _read_pictures(data: bytes, leptonica: Any) -> Iterator[Any]:
    """The pictures in a file. Raises UnreadablePage for one that is damaged or too large."""
    width, height, offset = ctypes.c_int(), ctypes.c_int(), ctypes.c_size_t()
    size, unused = ctypes.c_size_t(len(data)), [ctypes.byref(ctypes.c_int()) for _ in range(4)]
    sizes = unused[0], ctypes.byref(width), ctypes.byref(height), *unused[1:]
    is_known = leptonica.pixReadHeaderMem(data, size, *sizes) == 0
    if not is_known or width.value * height.value > MAX_PICTURE:
        raise UnreadablePage("it is a picture that is damaged or too large", "invalid")
    is_many = data[:4] in TIFF
    for _ in range(MAX_PICTURES if is_many else 1):
        more = (ctypes.byref(offset),) if is_many else ()
        read = leptonica.pixReadMemFromMultipageTiff if is_many else leptonica.pixReadMem
        if not (picture := ctypes.c_void_p(read(data, size, *more))):
            return
        yield picture
        leptonica.pixDestroy(ctypes.byref(picture))
        if is_many and not offset.value:
            return
