"""Word lists that the English patterns lean on. Data only; every entry is lower-case.

Lists of what a value cannot be keep precision up; lists of what it must be (languages, occupations) are used where
the shape of a sentence says too little ("I'm a nurse" and "I'm a mess" look alike).
"""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LANGUAGES = _words(
    "afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian bulgarian burmese"
    " cantonese"
    " catalan cebuano croatian czech danish dutch english estonian farsi filipino finnish flemish french galician"
    " georgian"
    " german greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada"
    " kazakh"
    " khmer korean kurdish lao latin latvian lithuanian macedonian malay malayalam maltese mandarin marathi mongolian"
    " nepali norwegian pashto persian polish portuguese punjabi quechua romanian russian samoan sanskrit serbian"
    " sinhala"
    " slovak slovenian somali spanish swahili swedish tagalog tamil telugu thai tibetan turkish ukrainian urdu uzbek"
    " vietnamese welsh wolof xhosa yiddish yoruba zulu chinese esperanto"
)

PROGRAMMING = _words(
    "python java javascript typescript rust go golang c c++ c# ruby php kotlin swift scala haskell ocaml clojure elixir"
    " erlang perl lua julia r dart zig f# fortran cobol matlab bash powershell"
)

TECHNOLOGY = PROGRAMMING - {"go", "c", "r"} | _words(
    "linux windows macos mac ubuntu debian kubernetes docker aws azure gcp postgres postgresql mysql sqlite mongodb"
    " redis"
    " kafka react vue angular svelte django flask node github gitlab git jira slack teams vim emacs vscode chrome"
    " firefox"
    " android ios excel notion obsidian terraform ray duckdb spark snowflake graphql"
)

NOT_NAMES = LANGUAGES | _words(
    "american british canadian australian brazilian mexican argentinian chilean colombian peruvian european african"
    " asian"
    " scottish swiss austrian belgian indian pakistani israeli iranian iraqi egyptian moroccan nigerian kenyan ghanaian"
    " catholic christian muslim jewish hindu buddhist atheist protestant orthodox sikh mormon aries taurus gemini"
    " cancer"
    " leo virgo libra scorpio sagittarius capricorn aquarius pisces monday tuesday wednesday thursday friday saturday"
    " sunday january february march april may june july august september october november december team gen batman"
    " superman spiderman god ok okay here there done sorry not no yes the a an so very also just still now ready"
)

FIRST_NAMES = _words(
    "alex sam max tom tim jim joe bob ben dan ron leo ian jack john james david daniel michael mike mark paul peter george henry"
    " harry oliver noah liam lucas luke matt matthew nick chris kevin brian eric adam aaron ryan sean simon martin thomas robert"
    " william charlie edward victor diego carlos juan pedro luis jose marco luca ahmed ali omar mohammed hassan raj ravi amit arjun"
    " kenji hiro wei anna ana emma olivia sophia sofia mia ella eva maria laura lisa julia sarah sara kate katie emily alice amy"
    " jane jenny jess jessica anne chloe zoe nina nora lena lucy lily ruby claire helen irene elena olga natasha fatima aisha priya"
    " meera yuki mei linda karen susan rachel rebecca hannah leah maya ines marta carla paula isabel camila valentina ingrid freya"
)

NOT_CALLED = _words(
    "later back tomorrow tonight now soon anytime sometime again today maybe whatever when if at on by in after before"
    " once a an the crazy paranoid old cynical naive weird picky stupid lazy biased dumb mad silly sceptical skeptical"
    " pedantic nuts whenever because please asap instead first collect daily weekly your my his her their sir"
    " old-fashioned spoiled strange impatient optimistic pessimistic sentimental superstitious cheap boring names that"
    " this it what how mud here there important confidential secret taken long short common rare spelled misspelled"
    " hard easy not on unimportant irrelevant unknown missing wrong"
)

NOT_PLACES = TECHNOLOGY | _words(
    "fear denial peace hope hell heaven limbo chaos poverty luxury danger harmony sin terror love misery pain exile"
    " isolation solitude squalor comfort style reality theory general person town bed school work it that this my your"
    " his her their our a an one two three here there nature nowhere anywhere somewhere everywhere constant pure total"
    " eternal perpetual sync bed dorms dormitory apartment house hiding fantasy dreamland lala plan option step chapter"
    " another some any different google microsoft apple amazon meta facebook netflix tesla sales marketing engineering"
    " finance legal downtown area suburb suburbs january february march april may june july august september october november december monday"
    " tuesday wednesday thursday friday saturday sunday spring summer autumn winter"
)

NOT_ORGS = _words(
    "night nights home myself free fun money peanuts living weekends weekend scale speed heights random once work"
    " school"
    " least most all noon a an my your his her their our the this that it one me him them us you nothing hours days"
    " dawn dusk midnight everything something anything others people clients customers retail tech sales food pleasure"
    " lunch dinner breakfast christmas easter night-time daytime both two three different various several many some any"
    " another each every whoever whom which what how"
)

OCCUPATIONS = _words(
    "accountant actor actress actuary administrator analyst anaesthetist animator anthropologist archaeologist"
    " architect"
    " archivist artist assistant astronaut astronomer attorney auditor author baker banker barber barista bartender"
    " biologist blacksmith bookkeeper botanist builder butcher carpenter cartographer cashier chef chemist chiropractor"
    " cleaner clerk coach columnist comedian composer consultant contractor cook copywriter coordinator counselor"
    " counsellor courier curator dancer dentist dermatologist designer detective developer dietitian diplomat director"
    " dispatcher doctor driver ecologist economist editor electrician engineer entrepreneur epidemiologist executive"
    " farmer filmmaker firefighter fisherman florist freelancer gardener geologist geographer goldsmith guard"
    " hairdresser"
    " historian housekeeper illustrator inspector instructor interpreter investigator janitor jeweller journalist judge"
    " lab-technician landscaper lawyer lecturer librarian lifeguard linguist locksmith machinist manager marketer mason"
    " mathematician mechanic meteorologist midwife miner model musician nanny neurologist neuroscientist novelist nurse"
    " nutritionist officer oncologist operator optician optometrist painter paramedic paralegal pastor pathologist"
    " pediatrician paediatrician pharmacist philosopher photographer physician physicist physiotherapist pianist pilot"
    " plumber poet policeman policewoman politician porter postman priest principal producer professor programmer"
    " proofreader psychiatrist psychologist publicist radiographer radiologist ranger realtor receptionist recruiter"
    " reporter researcher sailor salesman salesperson saleswoman scientist sculptor seamstress secretary singer"
    " sociologist soldier solicitor statistician steward stewardess student supervisor surgeon surveyor tailor teacher"
    " technician technologist therapist trader trainer translator tutor underwriter upholsterer vet veterinarian"
    " videographer violinist waiter waitress warden watchmaker welder writer zoologist ceo cto cfo intern apprentice"
    " lead postdoc sysadmin ophthalmologist cardiologist gp undergraduate homemaker freelancer dba admin"
)

NOT_QUALIFIERS = _words(
    "terrible horrible bad good great lousy decent pretty awful amazing awesome wonderful mediocre better worse nice"
    " hopeless slow fast big huge little bit kind fellow total complete real fake wannabe aspiring would-be future"
    " former"
    " ex armchair passable poor keen fair frustrated retired failed"
)

JOKE_ALLERGENS = _words(
    "monday mondays nonsense work bullshit mornings stupidity drama people commitment failure losing fun compliments"
    " code bugs meetings math maths exercise gyms lies liars politics responsibility change housework effort idiots"
    " fools"
    " homework chores cooking cleaning ties suits hype jargon bureaucracy boredom cliches bs emotions feelings excuses"
)

NOT_THINGS = _words(
    "it that this these those you your yours him his her hers them their theirs us our me my mine how when what where"
    " why"
    " who which whether if being both neither either each everything anything nothing something someone everyone anyone"
    " one ones myself yourself there here so not its is are was were"
)

ADJECTIVES = _words(
    "rustic cozy cosy classic modern complex unique traditional simple minimalist atmospheric dark light bright bold warm cool cold"
    " hot spicy sweet salty sour fresh healthy natural organic local rich deep funny romantic historical epic quirky small large big"
    " old new vintage short long quick fast slow easy hard soft loud quiet clean clear safe comfortable casual elegant creative"
    " interactive immersive challenging relaxing interesting beautiful strong mild smooth crisp crunchy creamy bitter independent"
    " foreign rural urban personal practical handmade handcrafted black white red blue green yellow"
)

VAGUE = frozenset(
    {
        "spending time",
        "spend time",
        "help",
        "helping",
        "playing",
        "working",
        "stuff",
        "things",
        "lots",
        "hearing",
        "people",
        "life",
        "talking",
    }
)

DISCOURSE = _words(
    "idea ideas suggestion suggestions approach option options version versions plan plans design point"
    " way look sound direction draft thought thoughts first second third fourth last"
    " latter former other part fact challenge"
)

STANDING_VERBS = _words(
    "answer respond reply use write call speak address keep include give explain show add ask start end format put"
    " translate cite avoid mention suggest recommend assume check remind make return tell send provide refer begin talk"
    " sign convert list summarise summarize quote round wrap commit push run share apologise apologize repeat print"
    " output order greet say capitalise capitalize spell describe stick prefer limit break confirm double-check"
)
