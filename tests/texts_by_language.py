"""One sentence in several languages."""

TEXTS = {
    "cs": "Zastupitelstvo v úterý večer schválilo přestavbu starého rybářského přístavu.",
    "de": "Der Stadtrat hat am Dienstagabend den Umbau des alten Fischereihafens beschlossen.",
    "en": "On Tuesday evening the town council decided to convert the old fishing harbour.",
    "fr": "Mardi soir, le conseil municipal a décidé de transformer l'ancien port de pêche.",
    "ja": "市議会は火曜日の夜、古い漁港を住宅地に改造することを決定しました。",
    "ru": "Городской совет во вторник вечером принял решение о перестройке старого рыбацкого порта.",
    "uk": "Міська рада у вівторок увечері ухвалила рішення про перебудову старого рибальського порту.",
    "zh": "市议会星期二晚上决定将旧渔港改建为住宅区，工程预计将于明年春天开始。",
}
