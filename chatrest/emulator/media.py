"""The material of made data: words, phrases in many scripts, and the files that media messages link to.

Some phrases have what breaks careless programs. The files are a few fixed bytes of their kind, and
their name after them, so that no two are equal.
"""

import re
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


PATH: Final = "/media/"
"""The beginning of the paths of files; no key is asked for."""
_NAME: Final = re.compile(r"([0-9]{12}|faces/[\w.-]{1,100})\.([a-z0-9]{3,4})", re.ASCII)
_TYPES: Final = {extension: content_type for _, content_type, extension in MEDIA}
_BEGINNINGS: Final = {
    "png": (
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0:~\x9bU"
        b"\0\0\0\nIDATx\x9cch\0\0\0\x82\0\x81w\xcdr\xb6\0\0\0\0IEND\xaeB`\x82"
    ),
    "jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xd9",
    "mp4": b"\0\0\0\x18ftypisom\0\0\2\0isommp41\0\0\0\x14free",
    "mp3": b"ID3\3\0\0\0\0\0\0\xff\xfb\x90\0",
    "pdf": b"%PDF-1.4\ntrailer<<>>\n%%EOF\n%",
    "csv": b"name\n",
}
MEDIA_SIZES: Final = {extension: len(begin) + 12 for extension, begin in _BEGINNINGS.items()}


class MediaFile(NamedTuple):
    content_type: str
    body: bytes


def media_file(path: str) -> MediaFile | None:
    name = path.removeprefix(PATH) if path.startswith(PATH) else ""
    match = _NAME.fullmatch(name)
    if match is None or match[2] not in _BEGINNINGS:
        return None
    return MediaFile(_TYPES[match[2]], _BEGINNINGS[match[2]] + match[1].encode())
