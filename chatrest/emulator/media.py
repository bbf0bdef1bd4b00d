"""What made data is made of: words, phrases in many scripts, and the files that media messages link to.

Some phrases have what breaks careless programs. The files are small, whole, and each with bytes of its own:
a file is made of its name when it is asked for; its size is that of its kind (`MEDIA_SIZES`).
"""

import re
from binascii import crc32
from struct import pack
from typing import Final, NamedTuple

GIVEN: Final = (
    "Ada", "Björn", "Chiara", "Dmitri", "Elif", "Fatima", "Giorgos", "Hana", "Ivan", "Jürgen", "Keiko",
    "Lucía", "Minh", "Nadia", "Olga", "Priya", "Quentin", "Rosa", "Søren", "Tomás", "Uma", "Vera", "Wei",
    "Yusuf", "Zoë", "Άννα", "Борис", "محمد", "נועה", "आर्या", "美咲", "伟", "지우", "สมชาย",
)  # fmt: skip
FAMILY: Final = (
    "Almeida", "Berg", "Chen", "Dubois", "Eriksen", "Fischer", "García", "Haddad", "Ito", "Jansen", "Kim",
    "Łukasik", "Müller", "Nguyễn", "O’Neill", "Petrov", "Rossi", "Şahin", "Tanaka", "Ueda", "Weiß", "Xu",
    "Žukauskas", "Παπαδοπούλου", "Иванова", "חן", "शर्मा", "田中", "王", "김",
)  # fmt: skip
PHRASES: Final = (
    "Good morning!", "See you at nine.", "Can you review the draft?", "The parcel has arrived.", "ok",
    "Lunch at 12:30?", 'She said "maybe" – twice.', "C:\\temp\\new", "first line\nsecond line", "tab\there",
    "100 % sure; a<b && c>d", "Das Treffen fällt aus, schöne Grüße.", "¿Puedes llamarme mañana?",
    "Ça marche, à bientôt !", "Zażółć gęślą jaźń", "Đã nhận được, cảm ơn!", "İyi günler, görüşürüz",
    "Blåbærgrød på søndag?", "Καλημέρα σε όλους", "Τα λέμε αύριο το πρωί.", "Доброе утро, коллеги!",
    "Встреча перенесена на пятницу.", "Ще не готово", "صباح الخير", "سأرسل الملف غدًا.",
    "בוקר טוב לכולם", "הקובץ מצורף", "नमस्ते, कैसे हैं आप?", "बैठक कल सुबह दस बजे है।", "வணக்கம்",
    "早上好,今天开会吗?", "文件已经发给你了。", "おはようございます", "資料を確認してください。",
    "안녕하세요, 반갑습니다", "내일 아침에 봐요.", "สวัสดีตอนเช้า", "ขอบคุณมากนะครับ", "გამარჯობა", "Բարեւ ձեզ",
    "👍", "🎉🎉", "👩‍👩‍👧‍👦 are here", "🏳️‍🌈", "👩🏽‍💻 at work", "🇯🇵 → 🇧🇷", "e\u0301 = é?",
    "zero\u200bwidth", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈",
)  # fmt: skip
REACTIONS: Final = ("👍", "❤️", "😂", "🎉", "👩🏽‍💻", "🙏")
TAGS: Final = ("urgent", "billing", "support", "to-do", "später")
MEDIA: Final = (
    ("image", "image/png", "png"), ("image", "image/jpeg", "jpg"), ("video", "video/mp4", "mp4"),
    ("audio", "audio/mpeg", "mp3"), ("file", "application/pdf", "pdf"), ("file", "text/csv", "csv"),
)  # fmt: skip
FILES: Final = ("photo", "report", "Rechnung März", "写真", "отчёт", "voice note")
LANGUAGES: Final = ("en", "de", "el", "ru", "ar", "he", "hi", "zh", "ja", "ko", "th")


# ── files ──


PATH: Final = "/media/"
"""The beginning of the paths of files; no key is asked for."""
_DIGITS: Final = 12
_NAME: Final = re.compile(rf"([0-9]{{{_DIGITS}}})\.([a-z0-9]{{3,4}})", re.ASCII)
_TYPES: Final = {extension: content_type for _, content_type, extension in MEDIA}


class MediaFile(NamedTuple):
    content_type: str
    body: bytes


def media_file(path: str) -> MediaFile | None:
    """Return the file at a request's path; None if there is none."""
    match = _NAME.fullmatch(path.removeprefix(PATH)) if path.startswith(PATH) else None
    if match is None or match[2] not in _MAKERS:
        return None
    return MediaFile(_TYPES[match[2]], _MAKERS[match[2]](match[1].encode()))


def _png(name: bytes) -> bytes:
    """A grey point, and the name as a comment."""
    chunks = (
        (b"IHDR", b"\0\0\0\1\0\0\0\1\x08\0\0\0\0"),
        (b"tEXt", b"Comment\0" + name),
        (b"IDAT", b"x\x9cch\0\0\0\x82\0\x81"),
        (b"IEND", b""),
    )
    parts = (pack(">I", len(data)) + kind + data + pack(">I", crc32(kind + data)) for kind, data in chunks)
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _jpg(name: bytes) -> bytes:
    """A grey point (8 x 8 of one value), and the name as a comment."""
    return b"".join(
        (
            b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0",
            b"\xff\xfe" + pack(">H", len(name) + 2) + name,
            b"\xff\xdb\0\x43\0" + b"\1" * 64,
            b"\xff\xc0\0\x0b\x08\0\1\0\1\1\1\x11\0",
            b"\xff\xc4\0\x14\0\1" + bytes(15) + b"\0",
            b"\xff\xc4\0\x14\x10\1" + bytes(15) + b"\0",
            b"\xff\xda\0\x08\1\1\0\0\x3f\0\x3f\xff\xd9",
        )
    )


def _mp4(name: bytes) -> bytes:
    """The head of a film without pictures, and the name as free bytes."""
    boxes = ((b"ftyp", b"isom\0\0\2\0isommp41"), (b"free", name), (b"mdat", b""))
    return b"".join(pack(">I", len(data) + 8) + kind + data for kind, data in boxes)


def _mp3(name: bytes) -> bytes:
    """The name as a title, and one silent frame."""
    title = b"TIT2" + pack(">I", len(name) + 1) + b"\0\0\0" + name
    return b"ID3\3\0\0" + bytes((0, 0, 0, len(title))) + title + b"\xff\xfb\x90\0" + bytes(413)


def _pdf(name: bytes) -> bytes:
    """An empty page, and the name as a comment."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 72 72]>>",
    )
    body, places = b"%%PDF-1.4\n%%%b\n" % name, []
    for number, text in enumerate(objects, start=1):
        places.append(len(body))
        body += b"%d 0 obj%bendobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 4\n0000000000 65535 f \n%btrailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n"
    return body + end % (table, len(body))


def _csv(name: bytes) -> bytes:
    return b"name,value\n%b,1\n" % name


_MAKERS: Final = {"png": _png, "jpg": _jpg, "mp4": _mp4, "mp3": _mp3, "pdf": _pdf, "csv": _csv}
MEDIA_SIZES: Final = {extension: len(make(b"0" * _DIGITS)) for extension, make in _MAKERS.items()}
"""The bytes of each file, by its extension."""
