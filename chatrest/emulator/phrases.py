"""Words for made data: names, and phrases in many scripts, some with what breaks careless programs."""

from typing import Final

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
