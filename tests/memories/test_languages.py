"""Words are found in any script: one example a row, asked through the API, beside a record that only looks alike."""

# ruff: noqa: RUF001 - letters of other scripts are meant
from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from hypothesis import example, given
from hypothesis import strategies as st

from members.models import Event, Member, Organisation
from memories import tasks
from memories.models import Memory, Version
from memories.providers import folding, lexis, typos, words
from memories.services import jobs, language, records
from memories.services.sight import look
from tests import factories
from tests.conftest import Api
from uhp_site.http.errors import MemoryBusy

pytestmark = pytest.mark.django_db

# (the organisation's language, what it is about, what is remembered, what only looks alike, what is asked)
TABLE = [
    ("english", "chinese word", "我昨天在東京吃了拉麵。", "我昨天在大阪喝了咖啡。", "東京"),
    ("english", "chinese question", "会议改到星期五下午三点。", "合同在三月续签。", "会议什么时候"),
    ("english", "chinese one character", "家里养了一只猫。", "家里养了一只狗。", "猫"),
    ("english", "chinese beside latin", "我们使用PostgreSQL数据库。", "我们使用缓存服务器。", "postgresql"),
    ("english", "japanese kanji", "契約は三月に更新されます。", "会議は四月に開かれます。", "契約"),
    ("english", "japanese question", "東京タワーに行きました。", "京都のお寺に行きました。", "東京タワーはどこですか"),
    ("english", "japanese syllabaries", "りんごを三つ買った。", "みかんを三つ買った。", "リンゴ"),
    ("english", "japanese half width", "ﾃﾚﾋﾞを買いました。", "机を買いました。", "テレビ"),
    ("english", "korean with particle", "저는 서울에서 일합니다.", "저는 부산에서 쉽니다.", "서울"),
    ("english", "korean inside a word", "자동차보험을 갱신했다.", "여행계획을 세웠다.", "보험"),
    ("english", "thai", "ประชุมเลื่อนไปเป็นวันศุกร์", "สัญญาต่ออายุในเดือนมีนาคม", "ประชุม"),
    ("english", "thai inside a sentence", "ฉันชอบกินข้าวผัดกุ้งมาก", "ฉันชอบดื่มกาแฟเย็น", "ข้าวผัด"),
    ("english", "lao", "ຂ້ອຍມັກກິນເຂົ້າໜຽວ", "ຂ້ອຍມັກດື່ມນ້ຳ", "ເຂົ້າໜຽວ"),
    ("english", "khmer", "ខ្ញុំរស់នៅភ្នំពេញ", "ខ្ញុំចូលចិត្តកាហ្វេ", "ភ្នំពេញ"),
    ("english", "burmese", "ရန်ကုန်မြို့မှာနေတယ်", "ကော်ဖီကြိုက်တယ်", "ရန်ကုန်"),
    ("english", "arabic with article", "الكتاب على الطاولة", "القلم في الحقيبة", "كتاب"),
    ("english", "arabic vowel points", "كَتَبَ مُحَمَّدٌ رِسَالَةً", "شرب أحمد القهوة", "محمد"),
    ("english", "arabic alef", "اجتماع مع أحمد يوم الاثنين", "اجتماع مع سعيد يوم الثلاثاء", "احمد"),
    ("arabic", "arabic teh marbuta", "زرنا المدرسة القديمة", "زرنا الحديقة الكبيرة", "مدرسه"),
    ("english", "persian letters", "کتاب روی میز است", "قلم در کیف است", "كتاب"),
    ("english", "hebrew prefix", "קראתי את הספר בלילה", "שתיתי את הקפה בבוקר", "ספר"),
    ("english", "hebrew points", "שָׁלוֹם עולם", "בוקר טוב", "שלום"),
    ("english", "russian cases", "Встреча по контракту в марте", "Обед с клиентом в апреле", "контракт"),
    ("russian", "russian yo", "Ёлка стоит в углу", "Стол стоит у окна", "елка"),
    ("english", "ukrainian", "Зустріч у Києві в понеділок", "Обід у Львові у вівторок", "Києві"),
    ("greek", "greek capitals", "Η συνάντηση είναι στην Αθήνα", "Το ταξίδι είναι στην Πάτρα", "ΑΘΗΝΑ"),
    ("english", "hindi", "अनुबंध मार्च में नवीनीकृत होगा", "बैठक अप्रैल में होगी", "अनुबंध"),
    ("english", "tamil", "சென்னையில் கூட்டம் நடக்கும்", "மதுரையில் விழா நடக்கும்", "கூட்டம்"),
    ("english", "armenian", "Պայմանագիրը երկարաձգվել է", "Հանդիպումը չեղարկվել է", "պայմանագիրը"),
    ("english", "georgian", "შეხვედრა თბილისში იქნება", "სადილი ბათუმში იქნება", "თბილისში"),
    ("english", "amharic", "ስብሰባው በአዲስ አበባ ነው", "ምሳው በጎንደር ነው", "ስብሰባው"),
    (
        "german",
        "german compound, last part",
        "Die Vertragsverlängerung ist unterschrieben.",
        "Die Rechnung ist bezahlt.",
        "Verlängerung",
    ),
    ("german", "german compound, first part", "Der Donaudampfschifffahrtskapitän kommt.", "Der Koch geht.", "Donau"),
    ("german", "german compound, middle", "Das Krankenversicherungsgesetz gilt.", "Das Fahrrad rollt.", "Versicherung"),
    (
        "german",
        "german compound asked",
        "Die Verlängerung des Vertrags eilt.",
        "Die Reise des Onkels dauert.",
        "Vertragsverlängerung",
    ),
    ("german", "german plural", "Drei Häuser stehen leer.", "Drei Autos stehen still.", "Haus"),
    ("german", "german umlaut as two", "Herr Müller ruft an.", "Herr Schmidt ruft an.", "Mueller"),
    ("german", "german sharp s", "Treffen in der Hauptstraße", "Treffen in der Altstadt", "Hauptstrasse"),
    ("german", "german thousands", "Das kostet 12.500 Euro.", "Das kostet 13.000 Euro.", "12500"),
    (
        "english",
        "german in an english organisation",
        "Die Vertragsverlängerung ist da.",
        "Die Rechnung ist da.",
        "Verlängerung",
    ),
    ("dutch", "dutch compound", "De ziektekostenverzekering loopt af.", "De fietsbel rinkelt.", "verzekering"),
    ("swedish", "swedish compound", "Sjukförsäkringen gäller hela året.", "Cykeln står i källaren.", "försäkring"),
    ("finnish", "finnish compound", "Sairausvakuutus on voimassa.", "Polkupyörä on rikki.", "vakuutus"),
    (
        "french",
        "french accents left out",
        "Les élèves ont préparé le déjeuner.",
        "Les voisins ont lavé la voiture.",
        "eleve",
    ),
    ("french", "french elision", "Rendez-vous à l'hôpital lundi", "Rendez-vous à l'école mardi", "hopital"),
    ("spanish", "spanish accents", "La reunión es en Málaga.", "La cena es en Sevilla.", "malaga reunion"),
    ("portuguese", "portuguese", "O avião chega amanhã a São Paulo.", "O comboio parte de Lisboa.", "sao paulo aviao"),
    ("turkish", "turkish letters", "Toplantı İstanbul'da", "Yemek Ankara'da", "istanbul"),
    ("english", "czech name", "Meeting on Žižkov hill", "Meeting on Letná hill", "zizkov"),
    ("english", "polish letters", "Lunch in Łódź with Ewa", "Lunch in Gdynia with Jan", "lodz"),
    ("english", "vietnamese tones", "Ăn phở ở Đà Nẵng", "Uống trà ở Huế", "da nang"),
    ("english", "accent only in the question", "The cafe opens at nine.", "The bakery opens at nine.", "café"),
    ("english", "accents put together", "The cafe\u0301 opens at ten.", "The bakery opens at ten.", "café"),
    ("english", "typographic quotes", "She said “lighthouse” twice.", "She said “harbour” twice.", "lighthouse"),
    ("english", "typographic apostrophe", "It is Marta’s bicycle.", "It is Peter’s kettle.", "Marta"),
    ("english", "full width", "Ｑｕｉｌｌｏｎ renews in March.", "Harlow pays in March.", "quillon"),
    ("english", "emoji", "Dinner tonight 🍕 at nine", "Dinner tonight 🍣 at nine", "🍕"),
    ("english", "emoji beside a word", "pizza🍕time", "sushi🍣time", "pizza"),
    ("english", "emoji skin tone", "Great work 👍🏽", "Poor work 👎🏽", "👍"),
    ("english", "flag", "Flying to 🇯🇵 soon", "Flying to 🇫🇷 soon", "🇯🇵"),
    ("english", "emoji of several", "Our 👩\u200d💻 is on call", "Our 👩\u200d🍳 is on call", "👩\u200d💻"),
    ("english", "camel case whole", "Call getUserName first.", "Call setHostPort first.", "getUserName"),
    ("english", "camel case part", "The parseHTTPResponse helper fails.", "The openFile helper fails.", "response"),
    ("english", "snake case whole", "Set max_body_bytes to four.", "Set min_pool_size to four.", "max_body_bytes"),
    ("english", "snake case for camel case", "Call getUserName first.", "Call setHostPort first.", "get_user_name"),
    (
        "english",
        "dotted name part",
        "See org.quillon.billing.Invoice there.",
        "See org.harlow.mail.Sender there.",
        "billing",
    ),
    (
        "english",
        "path part",
        "It lies in /srv/quillon/backup/nightly.tar now.",
        "It lies in /opt/harlow now.",
        "nightly",
    ),
    (
        "english",
        "address part",
        "Read https://docs.quillon.example/guides/renewal?x=1 please.",
        "Read https://x.example/y please.",
        "renewal",
    ),
    ("english", "symbols", "We write C++ here.", "We write C here.", "C++"),
    ("english", "symbols 2", "Services are in C# now.", "Services are in C now.", "c#"),
    ("english", "thousands", "The budget is 1,200 euros.", "The budget is 1,300 euros.", "1200"),
    ("english", "thousands asked", "The budget is 1200 euros.", "The budget is 200 euros.", "1,200"),
    ("english", "decimals", "It costs 1,200.50 in all.", "It costs 50 in all.", "1200.5"),
    ("english", "version", "Upgrade to 2.0.1 first.", "Upgrade to 2.1.0 first.", "v2.0.1"),
    ("english", "version asked plainly", "Upgrade to v2.0.1 first.", "Upgrade to v2.1.0 first.", "2.0.1"),
    ("english", "date", "Due on 2026-11-30 at noon.", "Due on 2026-11-29 at noon.", "2026-11-30"),
    ("english", "day of a date", "Due on 2026-11-30.", "Due on 2026-11-29.", "30"),
    ("english", "arabic digits", "الميزانية ١٢٠٠ يورو", "الميزانية ٣٤٠٠ يورو", "1200"),
    (
        "english",
        "mail address",
        "Write to mara.lind@quillon.example today.",
        "Write to jo@harlow.example today.",
        "mara.lind@quillon.example",
    ),
    (
        "english",
        "mail address part",
        "Write to mara.lind@quillon.example today.",
        "Write to jo@harlow.example today.",
        "quillon",
    ),
    ("english", "hyphen left out", "Send an e-mail to Mara.", "Send a parcel to Mara.", "email"),
    ("english", "acronym without points", "She lives in the U.S.A. now.", "She lives in Spain now.", "USA"),
    ("english", "name with apostrophe", "Ask O'Brien about it.", "Ask Larsen about it.", "obrien"),
    ("english", "no space after the point", "We met Quillon.Then we left.", "We met Harlow. Then we left.", "quillon"),
    ("english", "inflection", "Quillon renews its contracts.", "Harlow paints its fences.", "renewing contract"),
    ("english", "typo, one letter", "Quillon renews in March.", "Harlow pays in March.", "Quilon"),
    ("english", "typo, swapped letters", "The Vellacourt deal is signed.", "The Harlow deal is signed.", "Vellacuort"),
    ("english", "typo, two letters", "The Vellacourt deal is signed.", "The Harlow deal is signed.", "Velacurt"),
    ("german", "german typo", "Die Versicherung läuft ab.", "Die Rechnung läuft ein.", "Versichrung"),
    ("russian", "russian typo", "Договор продлён до марта", "Обед перенесён на завтра", "Догвор"),
]


def found(api: Api, who: Member, memory: Memory, **ask: Any) -> list[str]:
    answer = api.ok("POST", f"/v1/memories/{memory.id}/recall", ask, who)
    return [one["record"]["content"][0]["text"] for one in answer["results"]]


def speaking(spoken: str) -> tuple[Member, Memory]:
    home = factories.organisation()
    Organisation.objects.filter(pk=home.pk).update(language=spoken)
    member = factories.member(home, is_owner=True)
    return member, factories.memory(member)


@pytest.mark.parametrize(
    ("spoken", "said", "alike", "asked"), [(one[0], *one[2:]) for one in TABLE], ids=[one[1] for one in TABLE]
)
def test_a_question_finds_the_record_and_ranks_nothing_above_it(
    api: Api, spoken: str, said: str, alike: str, asked: str
) -> None:
    member, memory = speaking(spoken)
    for one in (alike, said, alike):
        factories.record(member, memory, one)
    assert found(api, member, memory, text=asked)[:1] == [said]


def vector_of(text: str, spoken: str = "english") -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_tsvector(%s::regconfig, %s)::text", [spoken, text])
        return str(cursor.fetchone()[0])


def kept(text: str, spoken: str = "english") -> str:
    member, memory = speaking(spoken)
    record = factories.record(member, memory, text)
    with connection.cursor() as cursor:
        cursor.execute("SELECT words::text FROM memories_version WHERE record_id = %s", [record.id[5:]])
        return str(cursor.fetchone()[0])


@pytest.mark.parametrize(
    "text",
    [
        "Quillon Freight renews its contract every March, doesn't it?",
        "We met on Friday; 12 people came, and nobody's bicycle was stolen.",
        "Congratulations on understanding the responsibilities of neighbourhoods.",
    ],
)
def test_plain_english_is_indexed_as_postgres_does_it(text: str) -> None:
    assert kept(text) == vector_of(text)


def test_other_forms_of_a_word_count_less_than_the_word(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "The getUserName helper fails.")
    factories.record(alice, shared, "The user fails.")
    assert found(api, alice, shared, text="user") == ["The user fails.", "The getUserName helper fails."]


def test_particles_do_not_outweigh_what_is_asked_about(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "京都のお寺に行きましたのでとても楽しかったです。")
    factories.record(alice, shared, "契約の更新。")
    assert found(api, alice, shared, text="契約についてはどうなりましたか")[0] == "契約の更新。"


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ('"renews in March"', ["Quillon renews in March."]),
        ('"March renews"', []),
        ('"quillon RENEWS"', ["Quillon renews in March."]),
        ('"renews" "March"', ["Quillon renews in March.", "In March Harlow renews nothing."]),
        ('harlow "renews"', ["In March Harlow renews nothing.", "Quillon renews in March."]),
        ('"renew"', []),
        ('"to be or not to be"', ["To be, or not to be."]),
        ("“renews in March”", ["Quillon renews in March."]),
        ('"東京タワー"', ["昨日東京タワーに行った。"]),
        ('"東京の"', []),
        ('"1,200 euros"', ["It costs 1200 euros."]),
        ('"cafe"', ["Ein Café."]),
        ('"2.0.1"', ["Upgrade to 2.0.1 now."]),
        ('"', []),
        ('""', []),
    ],
)
def test_a_quoted_phrase_occurs_as_it_stands(
    api: Api, alice: Member, shared: Memory, asked: str, expected: list[str]
) -> None:
    for one in (
        "Quillon renews in March.",
        "In March Harlow renews nothing.",
        "To be, or not to be.",
        "昨日東京タワーに行った。",
        "京都のタワー、東京と同じ。",
        "It costs 1200 euros.",
        "Ein Café.",
        "Upgrade to 2.0.1 now.",
    ):
        factories.record(alice, shared, one)
    assert sorted(found(api, alice, shared, text=asked)) == sorted(expected)


def test_a_phrase_does_not_run_over_from_one_part_into_the_next(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, [{"type": "text", "text": "It ends red"}, {"type": "text", "text": "apple begins"}])
    factories.record(alice, shared, "plain", title="A red apple")
    assert found(api, alice, shared, text='"red apple"') == ["plain"]


def test_a_phrase_may_stand_on_two_lines(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "It ends red\napple begins")
    assert len(found(api, alice, shared, text='"red apple"')) == 1


def test_a_phrase_that_was_not_looked_for_everywhere_is_admitted(
    api: Api, alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(4):
        factories.record(alice, shared, f"red apple {number}")
    monkeypatch.setattr(words, "LOOKED_THROUGH", 2)
    answer = api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": '"apple red"'}, alice)
    assert (answer["results"], answer["degraded"]) == ([], ["text:capped_at_2_records"])
    answer = api.ok("POST", f"/v1/memories/{shared.id}/recall", {"text": '"red apple"', "limit": 1}, alice)
    assert len(answer["results"]) == 1


def test_titles_and_attributes_are_found_in_any_script(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "one", title="東京の会議")
    factories.record(alice, shared, "two", attributes={"city": "Žižkov"})
    assert found(api, alice, shared, text="東京") == ["one"]
    assert found(api, alice, shared, text="zizkov") == ["two"]


def test_a_word_is_put_right_by_what_the_reader_may_read_alone(
    api: Api, alice: Member, carol: Member, shared: Memory
) -> None:
    hidden = factories.memory(alice, shared, restricted=True)
    factories.record(alice, hidden, "The Vellacourt deal.")
    factories.record(alice, shared, "The Harlow deal.")
    assert found(api, alice, shared, text="Vellacuort") == ["The Vellacourt deal."]
    assert found(api, carol, shared, text="Vellacuort") == []
    factories.record(alice, shared, "Vellacuort is a name, too.")
    # What somebody reads is spelt like that, and meant: for alice as for carol.
    assert found(api, alice, shared, text="Vellacuort") == ["Vellacuort is a name, too."]


def test_a_word_of_a_forgotten_record_puts_nothing_right(api: Api, alice: Member, shared: Memory) -> None:
    record = factories.record(alice, shared, "The Vellacourt deal.")
    records.forget(look(factories.caller(alice), shared.id), record.id)
    assert found(api, alice, shared, text="Vellacuort") == []
    assert len(found(api, alice, shared, text="Vellacuort", include="all")) == 1


def test_a_common_word_that_nobody_used_is_no_mistake(api: Api, alice: Member, shared: Memory) -> None:
    factories.record(alice, shared, "She likes her bicycle.")
    assert found(api, alice, shared, text="hikes") == []


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("form", "from", 1),
        ("form", "forms", 1),
        ("form", "fort", 1),
        ("form", "fo", 2),
        ("abcd", "badc", 2),
        ("a", "", 1),
    ],
)
def test_a_distance_counts_letters_wrong_missing_and_swapped(one: str, other: str, expected: int) -> None:
    assert typos.distance(one, other, 2) == typos.distance(other, one, 2) == expected


@given(st.text("abc", min_size=1, max_size=6))
def test_every_spelling_one_letter_away_is_one_away(word: str) -> None:
    assert all(typos.distance(word, other, 2) == 1 for other in typos.one_off(word))


@given(st.text(), st.sampled_from(["english", "german", "french", "russian", "simple"]))
@example("'\\''\\", "english")
@example("\ud83d", "english")
@example("\u0301" * 50, "french")
def test_any_text_is_taken_apart_without_a_failure(text: str, spoken: str) -> None:
    taken = lexis.indexed(text, spoken)
    assert all(0 < len(lexeme) <= lexis.LONGEST for lexeme in taken.exact)
    lexis.asked(text, spoken)
    folding.phrases(text)
    assert folding.occurs(folding.compared(text), folding.compared(text)) or not folding.compared(text)


@pytest.mark.parametrize(
    "piece", ["漢字仮名交じり", "ภาษาไทย", "Donaudampfschifffahrt ", "getUserName ", "a1.b2 ", "é ", "🍕", "ж "]
)
def test_the_longest_text_fits(alice: Member, piece: str) -> None:
    numbered = "".join(f"{piece}{chr(0x4E00 + number % 20_000)}{number}" for number in range(20_000))
    text = numbered[: lexis.MAX_WORDS + 10]
    Organisation.objects.filter(pk=alice.organisation_id).update(language="german")
    factories.record(alice, factories.memory(alice), text)


def test_changing_the_language_indexes_everything_anew_and_answers_meanwhile(api: Api) -> None:
    member, memory = speaking("english")
    factories.record(member, memory, "Drei Häuser stehen leer.")
    assert found(api, member, memory, text="Haus") == []
    job = language.change(member.organisation_id, "german")
    assert found(api, member, memory, text="Häuser") == ["Drei Häuser stehen leer."]
    with pytest.raises(MemoryBusy):
        language.change(member.organisation_id, "french")
    jobs.run(job.id, tasks.KINDS)
    job.refresh_from_db()
    assert (job.state, job.done, job.total) == ("completed", 1, 1)
    assert found(api, member, memory, text="Haus") == ["Drei Häuser stehen leer."]
    assert Organisation.objects.values_list("language", "former_language").get(pk=member.organisation_id) == (
        "german",
        "",
    )
    assert Event.objects.get(action="organisation.language").detail == {"before": "english", "after": "german"}


def test_words_indexed_anew_are_those_of_the_first_time(
    alice: Member, shared: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, one in enumerate(TABLE[:20]):
        factories.record(alice, shared, one[2], title=one[1], attributes={"city": "Łódź", "number": number})
    first = dict(Version.objects.values_list("pk", "words"))
    Version.objects.update(words=None)
    monkeypatch.setattr(language, "BATCH", 7)
    jobs.run(language.change(alice.organisation_id, "english").id, tasks.KINDS)
    assert dict(Version.objects.values_list("pk", "words")) == first


def test_a_language_that_the_database_does_not_know_is_refused_with_those_it_does(alice: Member) -> None:
    with pytest.raises(CommandError, match=r"klingon.*german"):
        call_command("text_language", alice.organisation.slug, "klingon")


def test_the_command_says_and_changes_the_language(alice: Member) -> None:
    def said(*arguments: str) -> str:
        out = io.StringIO()
        call_command("text_language", alice.organisation.slug, *arguments, stdout=out)
        return out.getvalue()

    assert said() == "Acme: english\n"
    assert said("german").startswith("Acme: german. A worker indexes its words anew (hjob_")
    assert "Indexing words: 0 of ?." in said()
