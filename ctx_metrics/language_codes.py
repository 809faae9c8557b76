"""The languages' codes and English names."""

# Each language: its shortest code of ISO 639, its other codes (ISO 639-2/B, 639-2/T, 639-3, withdrawn ones, that of
# M2M-100, and those of languages that it comprises and that models and test sets name, such as arz of ar), and its name.
_TABLE = """
aa aar Afar | ab abk Abkhazian | ae ave Avestan | af afr Afrikaans | ak aka Akan | am amh Amharic | an arg Aragonese |
ar ara arb acm acq aeb ajp apc arz ary ars acw afb apd Arabic | as asm Assamese | av ava Avaric | ay aym ayr Aymara |
az aze azj Azerbaijani | ba bak Bashkir | be bel Belarusian | bg bul Bulgarian | bh bih Bihari | bi bis Bislama | bm
bam Bambara | bn ben Bengali | bo bod tib Tibetan | br bre Breton | bs bos Bosnian | ca cat Catalan | ce che Chechen |
ch cha Chamorro | co cos Corsican | cr cre Cree | cs ces cze Czech | cu chu Church Slavic | cv chv Chuvash | cy cym
wel Welsh | da dan Danish | de deu ger German | dv div Divehi | dz dzo Dzongkha | ee ewe Ewe | el ell gre Greek | en
eng English | eo epo Esperanto | es spa Spanish | et est ekk Estonian | eu eus baq Basque | fa fas per pes prs Persian
| ff ful fuv Fula | fi fin Finnish | fj fij Fijian | fo fao Faroese | fr fra fre French | fy fry Western Frisian | ga
gle Irish | gd gla Scottish Gaelic | gl glg Galician | gn grn gug Guarani | gu guj Gujarati | gv glv Manx | ha hau
Hausa | he heb iw Hebrew | hi hin Hindi | ho hmo Hiri Motu | hr hrv scr Croatian | ht hat Haitian Creole | hu hun
Hungarian | hy hye arm Armenian | hz her Herero | ia ina Interlingua | id ind in Indonesian | ie ile Interlingue | ig
ibo Igbo | ii iii Sichuan Yi | ik ipk esi Inupiaq | io ido Ido | is isl ice Icelandic | it ita Italian | iu iku
Inuktitut | ja jpn Japanese | jv jav jw Javanese | ka kat geo Georgian | kg kon Kongo | ki kik Kikuyu | kj kua
Kuanyama | kk kaz Kazakh | kl kal Kalaallisut | km khm Khmer | kn kan Kannada | ko kor Korean | kr kau knc Kanuri | ks
kas Kashmiri | ku kur kmr Kurdish | kv kom Komi | kw cor Cornish | ky kir Kyrgyz | la lat Latin | lb ltz Luxembourgish
| lg lug Ganda | li lim Limburgish | ln lin Lingala | lo lao Lao | lt lit Lithuanian | lu lub Luba-Katanga | lv lav
lvs Latvian | mg mlg plt Malagasy | mh mah Marshallese | mi mri mao Māori | mk mkd mac Macedonian | ml mal Malayalam |
mn mon khk Mongolian | mr mar Marathi | ms msa may zsm Malay | mt mlt Maltese | my mya bur Burmese | na nau Nauru | nb
nob Norwegian Bokmål | nd nde North Ndebele | ne nep npi Nepali | ng ndo Ndonga | nl nld dut Dutch | nn nno Norwegian
Nynorsk | no nor Norwegian | nr nbl South Ndebele | nv nav Navajo | ny nya Nyanja | oc oci Occitan | oj oji Ojibwa |
om orm gaz Oromo | or ori ory Odia | os oss Ossetic | pa pan Punjabi | pi pli Pali | pl pol Polish | ps pus pbt Pashto
| pt por Portuguese | qu que quy quz Quechua | rm roh Romansh | rn run Rundi | ro ron rum mol mo Romanian | ru rus
Russian | rw kin Kinyarwanda | sa san Sanskrit | sc srd sro Sardinian | sd snd Sindhi | se sme Northern Sami | sg sag
Sango | sh hbs Serbo-Croatian | si sin Sinhala | sk slk slo Slovak | sl slv Slovenian | sm smo Samoan | sn sna Shona |
so som Somali | sq sqi alb als Albanian | sr srp scc Serbian | ss ssw Swati | st sot Southern Sotho | su sun Sundanese
| sv swe Swedish | sw swa swh Swahili | ta tam Tamil | te tel Telugu | tg tgk Tajik | th tha Thai | ti tir Tigrinya |
tk tuk Turkmen | tl tgl fil Filipino | tn tsn Tswana | to ton Tongan | tr tur Turkish | ts tso Tsonga | tt tat Tatar |
tw twi Twi | ty tah Tahitian | ug uig Uyghur | uk ukr Ukrainian | ur urd Urdu | uz uzb uzn Uzbek | ve ven Venda | vi
vie Vietnamese | vo vol Volapük | wa wln Walloon | wo wol Wolof | xh xho Xhosa | yi yid ydd ji Yiddish | yo yor Yoruba
| za zha Zhuang | zh zho chi cmn Chinese | zu zul Zulu | ast Asturian | azb South Azerbaijani | awa Awadhi | bho
Bhojpuri | ban Balinese | bem Bemba | ceb Cebuano | ckb Central Kurdish | crh Crimean Tatar | fur Friulian | gan Gan
Chinese | gsw Swiss German | hak Hakka Chinese | hsb Upper Sorbian | dsb Lower Sorbian | hsn Xiang Chinese | kab
Kabyle | kea Kabuverdianu | lld Ladin | lij Ligurian | liv Livonian | lmo Lombard | lzh Literary Chinese | mag Magahi
| mai Maithili | mas Masai | mni Manipuri | nan Min Nan Chinese | nso ns Northern Sotho | pap Papiamento | sah Yakut |
sat Santali | scn Sicilian | shn Shan | szl Silesian | tpi Tok Pisin | vec Venetian | wuu Wu Chinese | yue Cantonese |
zza Zaza | tzm Central Atlas Tamazight | cjy Jinyu Chinese | cdo Min Dong Chinese | kbp Kabiyè | luo Luo | ltg
Latgalian | lus Mizo | min Minangkabau | pag Pangasinan | war Waray | ace Acehnese | bjn Banjar | bug Buginese | cjk
Chokwe | dik Southwestern Dinka | dyu Dyula | fon Fon | hne Chhattisgarhi | kac Kachin | kam Kamba | kmb Kimbundu |
lua Luba-Lulua | mos Mossi | nus Nuer | taq Tamasheq | tum Tumbuka | umb Umbundu | bgc Haryanvi | gom Goan Konkani |
ilo Iloko | bsk Burushaski | brx Bodo | doi Dogri | cnh Hakha Chin | tcy Tulu
"""
NAMES: dict[str, str] = {}  # by shortest code
SHORTEST: dict[str, str] = {}  # the shortest code for each code
for _row in _TABLE.split("|"):
    _words = _row.split()
    _codes = [word for word in _words if word.islower()]
    NAMES[_codes[0]] = " ".join(_words[len(_codes) :])
    SHORTEST |= dict.fromkeys(_codes, _codes[0])
