"""Inputs: lines, JSON Lines, LoCoMo files, what a path holds, and the identity of a line."""

import io
import json
import sys
import uuid
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.errors import InvalidInput
from memory_actors import demo
from memory_actors.inputs import TurnLine, command_ids, identities, locomo, parse_line, read_inputs
from memory_actors.inputs.fields import FIELDS, MAX_CONTENT, ROLES
from memory_actors.inputs.jsonl import MAX_LINE, bounded_lines, read_jsonl
from memory_actors.times import parse_instant

KEY = b"a store's secret"
WHOLE: dict[str, Any] = {
    "user": "maya",
    "role": "assistant",
    "content": "Noted.",
    "space": "work",
    "conversation": "2026-03",
    "speaker": "Helper",
    "occurred_at": "2026-03-01T09:30:00+02:00",
    "turn_id": "m2",
    "channel": "web",
    "agent": "helper",
    "importance": 1,
    "meta": {"lang": "en"},
}


def line_of(**fields: object) -> bytes:
    """A line of JSON: a short turn of Maya's with some fields of its own."""
    return json.dumps({"user": "maya", "role": "user", "content": "hello"} | fields).encode()


def parsed(**fields: object) -> TurnLine:
    return parse_line(line_of(**fields), origin="chat.jsonl", number=3)


def refusal(raw: bytes) -> str:
    with pytest.raises(InvalidInput) as caught:
        parse_line(raw, origin="chat.jsonl", number=3)
    return str(caught.value)


def turn(content: str, place: int = 1, **fields: Any) -> TurnLine:
    """A TurnLine as `read_inputs` hands it out: with its space."""
    return msgspec.structs.replace(
        TurnLine(user="maya", role="user", content=content, space="default", origin=f"a.jsonl:{place}", line=place),
        **fields,
    )


class TestLine:
    def test_all_fields(self) -> None:
        """Every field arrives; times are microseconds, UTC."""
        expected = TurnLine(
            **(WHOLE | {"occurred_at": parse_instant("2026-03-01T07:30:00Z", naive="error"), "importance": 1.0}),
            origin="chat.jsonl:3",
            line=3,
        )

        assert expected == parse_line(json.dumps(WHOLE).encode(), origin="chat.jsonl", number=3)

    def test_defaults(self) -> None:
        """Three fields are enough; null is as good as absent."""
        expected = TurnLine(user="maya", role="user", content="hello", origin="chat.jsonl:3", line=3)

        assert expected == parsed() == parsed(space=None, conversation=None, turn_id=None, meta=None)

    @pytest.mark.parametrize(
        ("written", "read"),
        [
            ("2026-03-01T09:30:00Z", "2026-03-01T09:30:00Z"),
            ("2026-03-01T09:30:00", "2026-03-01T09:30:00Z"),
            ("2026-03-01", "2026-03-01T00:00:00Z"),
            (1772357400, "2026-03-01T09:30:00Z"),
            (1772357400.25, "2026-03-01T09:30:00.25Z"),
            (0, "1970-01-01T00:00:00Z"),
        ],
    )
    def test_occurred_at(self, written: object, read: str) -> None:
        """ISO 8601 (UTC without a zone) or seconds since 1970."""
        assert parse_instant(read, naive="error") == parsed(occurred_at=written).occurred_at

    def test_content_parts_become_text(self) -> None:
        """Texts stay, one part a line; what is no text leaves a placeholder."""
        parts = [
            "first",
            {"type": "text", "text": "second"},
            {"text": "third"},
            {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
            {"type": "image", "caption": "a dog"},
            {"type": "input_image", "alt": " a tram "},
            {"type": "tool_use", "name": "search", "input": {}},
            {"type": "function", "function": {"name": "book"}},
            {"type": "tool_result", "content": [{"type": "text", "text": "two tables free"}]},
            {"type": "input_audio"},
        ]
        expected = [
            *("first", "second", "third", "[image]", "[image: a dog]", "[image: a tram]", "[tool_use: search]"),
            *("[function: book]", "[tool_result: two tables free]", "[input_audio]"),
        ]

        assert expected == parsed(content=parts).content.split("\n")

    def test_content_is_kept_as_it_is(self) -> None:
        """Blanks, NUL, control characters and any script are data."""
        content = "  a\0b\x1b[31m\r\n\u202e😀 مرحبا  "

        assert content == parsed(content=content).content

    def test_a_turn_of_one_mebibyte_fits_and_a_byte_more_does_not(self) -> None:
        """Bytes of UTF-8 count, not characters."""
        assert len(parsed(content="é" * (MAX_CONTENT // 2)).content) == MAX_CONTENT // 2

        assert "1,048,578 bytes of UTF-8" in refusal(line_of(content="é" * (MAX_CONTENT // 2 + 1)))

    def test_ids_are_only_names(self) -> None:
        """A path is a name like any other; the longest ids fit."""
        line = parsed(user="../x", space="s" * 128, conversation="é" * 128, turn_id="😀" * 64)

        assert (line.user, line.space, line.conversation, line.turn_id) == ("../x", "s" * 128, "é" * 128, "😀" * 64)

    @pytest.mark.parametrize(
        ("fields", "said"),
        [
            ({"contnet": "x"}, "unknown field 'contnet'; did you mean 'content'?"),
            ({"timestamp": 5}, "unknown field 'timestamp'; did you mean 'occurred_at'?"),
            ({"zzz": 5}, "unknown field 'zzz'; put what is your own into 'meta'"),
            ({"user": None}, "field 'user' is missing, in a line such as"),
            ({"user": ""}, "field 'user' is empty"),
            ({"user": "@maya"}, "field 'user' is '@maya'"),
            ({"user": 7}, "field 'user' is a number, where text is expected, such as 'maya'"),
            ({"user": "a\0b"}, "field 'user' has a NUL character"),
            ({"user": "u" * 129}, "field 'user' has 129 bytes of UTF-8, and 128 is the most"),
            ({"user": "é" * 60}, "field 'user' cannot name a stream"),
            ({"space": "  "}, "field 'space' is empty: leave the field out"),
            ({"conversation": "é" * 129}, "field 'conversation' has 258 bytes of UTF-8, and 256 is the most"),
            ({"turn_id": 17}, "field 'turn_id' is a number, where text is expected, such as 'msg-17'"),
            ({"role": "usr"}, "field 'role' is 'usr', where one of user, assistant, system, tool is expected"),
            ({"role": ["user"]}, "field 'role' is a list"),
            ({"content": None}, "field 'content' is missing"),
            ({"content": " \n"}, "field 'content' is empty"),
            ({"content": []}, "field 'content' is empty"),
            ({"content": {"text": "x"}}, "field 'content' is an object, where text or a list of parts is expected"),
            ({"content": ["x", 5]}, "field 'content' has a part 2 that is a number"),
            ({"content": [{"a": 1}]}, "field 'content' has a part 1 without a type"),
            ({"content": [{"type": "text"}]}, "field 'content' has a text part 1 whose 'text' is null"),
            ({"occurred_at": "yesterday"}, "field 'occurred_at' is wrong: 'yesterday' is not a time; write 2026-"),
            ({"occurred_at": "2026-02-30"}, "is not a time that exists: day is out of range"),
            ({"occurred_at": 1772357400000}, "1772357400000 seconds are beyond the year 2200; are these milliseconds?"),
            ({"occurred_at": -1}, "-1 is outside the years 1970 to 2200"),
            ({"occurred_at": True}, "field 'occurred_at' is true or false, where a time is expected"),
            ({"importance": 1.1}, "field 'importance' is 1.1, where a number from 0 to 1 is expected"),
            ({"importance": 10**30}, "where a number from 0 to 1 is expected, such as 0.8"),
            ({"importance": True}, "field 'importance' is true or false"),
            ({"meta": []}, "field 'meta' is a list, where an object is expected"),
            ({"meta": {"n": "x" * MAX_CONTENT}}, "bytes of JSON, and 1,048,576 (1 MiB) is the most"),
            ({"meta": json.loads('{"a": ' * 33 + "1" + "}" * 33)}, "field 'meta' is nested more than 32 deep"),
            ({"content": "a\ud800b"}, "field 'content' has a lone surrogate"),
            ({"user": "\udfff"}, "field 'user' has a lone surrogate"),
            ({"meta": {"a": ["\ud800"]}}, "field 'meta' has a lone surrogate"),
            ({"\ud800": 1}, "field '\\ud800' has a lone surrogate"),
        ],
    )
    def test_what_is_wrong_is_named(self, fields: dict[str, object], said: str) -> None:
        """File, line, field, what is wrong and what would be right."""
        message = refusal(line_of(**fields))

        assert message.startswith("chat.jsonl:3: ")
        assert said in message

    @pytest.mark.parametrize(
        ("raw", "said"),
        [
            (b"", "not JSON"),
            (b"{", "not JSON"),
            (b"hello", "one object a line is right"),
            (b"[1]", "a list, where one JSON object a line is expected"),
            (b"null", "null, where one JSON object"),
            (b'{"user": NaN}', "not JSON"),
            (b'{"user": "\xff"}', "not UTF-8"),
            (b'{"user": "\xed\xa0\x80"}', "not UTF-8"),
            (b"[" * 100_000, "nested too deeply"),
            (b'{"user": 1e999}', "not JSON"),
        ],
    )
    def test_what_is_no_line_is_named(self, raw: bytes, said: str) -> None:
        """Bytes that are no JSON object say so, with an example."""
        assert said in refusal(raw)

    @given(st.binary() | st.binary().map(lambda tail: line_of()[:-1] + tail))
    def test_any_bytes_are_a_turn_or_invalid(self, raw: bytes) -> None:
        """Arbitrary bytes give a TurnLine or InvalidInput and nothing else."""
        turn_or_invalid(raw)

    @given(
        st.dictionaries(
            st.sampled_from(FIELDS),
            st.sampled_from(ROLES)
            | st.recursive(
                st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.just("\ud800"),
                lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "text", "content"]), inner),
            ),
        )
    )
    def test_any_values_are_a_turn_or_invalid(self, fields: dict[str, object]) -> None:
        """So do arbitrary values of the known fields."""
        turn_or_invalid(line_of(**fields))


def turn_or_invalid(raw: bytes) -> None:
    try:
        line = parse_line(raw, origin="x", number=1)
    except InvalidInput:
        return

    assert line.content.encode()
    assert msgspec.json.encode(line)


class TestJsonl:
    def test_blank_lines_and_a_byte_order_mark(self) -> None:
        """Both are passed over, and line numbers count them."""
        lines = [b"\xef\xbb\xbf" + line_of() + b"\r\n", b"\n", b"  \n", line_of(turn_id="b")]

        turns, problems = read_jsonl(lines, "chat.jsonl")

        assert [line.line for line in turns] == [1, 4]
        assert [line.origin for line in turns] == ["chat.jsonl:1", "chat.jsonl:4"]
        assert problems == []

    def test_bad_lines_are_told_together(self) -> None:
        """The first few are shown with their numbers, and --skip-bad is offered."""
        lines = [line_of(), b"{", line_of(role="usr"), line_of()]

        with pytest.raises(InvalidInput) as caught:
            read_jsonl(lines, "chat.jsonl")

        message = str(caught.value)
        assert message.startswith("2 bad lines in chat.jsonl; nothing was recorded")
        assert "chat.jsonl:2: not JSON" in message
        assert "chat.jsonl:3: field 'role'" in message
        assert "--skip-bad" in message

    def test_reading_stops_at_twenty_bad_lines(self) -> None:
        """A file of another kind is not read to its end."""
        lines = iter([b"{"] * 100)

        with pytest.raises(InvalidInput, match="at least 20 bad lines"):
            read_jsonl(lines, "chat.jsonl")

        assert len(list(lines)) == 80

    def test_skip_bad_lists_what_it_leaves_out(self) -> None:
        """Good lines stay; every bad one is a problem."""
        turns, problems = read_jsonl([b"{"] * 30 + [line_of()], "chat.jsonl", skip_bad=True)

        assert (len(turns), len(problems)) == (1, 30)

    def test_a_line_without_end_is_cut(self) -> None:
        """A line longer than a turn can be is one problem, and the next line is read."""
        stream = io.BytesIO(line_of() + b"\n" + b"x" * (2 * MAX_LINE + 5) + b"\n" + line_of(turn_id="b"))

        turns, problems = read_jsonl(bounded_lines(stream), "chat.jsonl", skip_bad=True)

        assert [line.turn_id for line in turns] == [None, "b"]
        assert len(problems) == 1
        assert problems[0].startswith("chat.jsonl:2: longer than 16 MiB")


def conversation(**more: object) -> dict[str, object]:
    """A small conversation in LoCoMo's form: sessions out of order, a date without a session, a caption."""
    said = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_10_date_time": "12:09 am on 13 September, 2023",
        "session_10": [{"speaker": "Bob", "dia_id": "D10:1", "text": "Late again."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "I adopted a cat."},
            {"speaker": "Bob", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a photo of a dog", "query": "dog"},
        ],
        "session_11_date_time": "1:00 pm on 1 October, 2023",
    }
    asked = [
        {"question": "What did Ann adopt?", "answer": "a cat", "category": 4, "evidence": ["D2:1"]},
        {"question": "When?", "answer": 2023, "category": 2, "evidence": ["D:2:1; D10:1", "D", "D9:9", "D2:1"]},
        {"question": "Who flew?", "category": 5, "evidence": []},
    ]
    return {"sample_id": "conv-1", "conversation": said, "qa": asked, **more}


@pytest.fixture
def locomo_file(tmp_path: Path) -> Path:
    path = tmp_path / "conv-1.json"
    path.write_text(json.dumps([conversation()], indent=1))
    return path


def write_audit(path: Path, **changed: object) -> None:
    entry = {
        "question_id": "locomo_7_qa0",
        "question": "What did Ann adopt?",
        "error_type": "WRONG_CITATION",
        "correct_evidence": ["D2:2"],
        "correct_answer": "a dog",
    }
    path.with_name("conv-1.audit.json").write_text(json.dumps([entry | changed]))


class TestLocomo:
    def test_turns(self, locomo_file: Path) -> None:
        """Sessions in numeric order, turns one second apart, captions appended, speakers by name."""
        lines = read_inputs([locomo_file], space="default").lines

        actual = [(line.conversation, line.turn_id, line.speaker, line.content, line.occurred_at) for line in lines]

        may, september = (parse_instant(text, naive="error") for text in ("2023-05-08T13:56Z", "2023-09-13T00:09Z"))
        assert actual == [
            ("session_2", "D2:1", "Ann", "I adopted a cat.", may),
            ("session_2", "D2:2", "Bob", "Look! [image: a photo of a dog]", may + 1_000_000),
            ("session_10", "D10:1", "Bob", "Late again.", september),
        ]
        assert {("conv-1", "user", "default")} == {(line.user, line.role, line.space) for line in lines}

    def test_questions_keep_evidence_that_exists(self, locomo_file: Path) -> None:
        """Malformed evidence is read where it can be, and dropped where it names no turn."""
        found = locomo.questions(locomo_file)

        assert [question.evidence for question in found] == [("D2:1",), ("D2:1", "D10:1"), ()]
        assert [question.answer for question in found] == ["a cat", "2023", None]
        assert [(question.index, question.category) for question in found] == [(0, 4), (1, 2), (2, 5)]

    def test_the_audit_corrects_its_question_only(self, locomo_file: Path) -> None:
        """A correction replaces evidence and answer of the question at its place."""
        write_audit(locomo_file)
        asked = locomo.questions(locomo_file)

        mended = locomo.corrected(asked, locomo.audit(locomo_file))

        assert (mended[0].evidence, mended[0].answer) == (("D2:2",), "a dog")
        assert asked[1:] == mended[1:]

    def test_without_an_audit_nothing_is_corrected(self, locomo_file: Path) -> None:
        """No file beside, no corrections."""
        assert locomo.audit(locomo_file) == []

    @pytest.mark.parametrize("changed", [{"question": "Other?"}, {"question_id": "locomo_7_qa9"}, {"question_id": "x"}])
    def test_an_audit_of_other_questions_is_refused(self, locomo_file: Path, changed: dict[str, object]) -> None:
        """A correction must repeat the text of the question at its place."""
        write_audit(locomo_file, **changed)

        with pytest.raises(InvalidInput, match="is not the question of that place"):
            locomo.audit(locomo_file)

    def test_an_audit_among_the_inputs_is_passed_over(self, locomo_file: Path) -> None:
        """`ingest *.json` meets audits too: they are noted, not recorded."""
        write_audit(locomo_file)

        inputs = read_inputs(sorted(locomo_file.parent.iterdir()))

        assert (len(inputs.lines), len(inputs.notes)) == (3, 1)
        assert "corrections of labels, not turns" in inputs.notes[0]

    @pytest.mark.parametrize(
        ("said", "wrong"),
        [
            ({"session_1": [], "session_1_date_time": "tomorrow"}, "where one like '1:56 pm on 8 May, 2023' belongs"),
            ({"session_1": [], "session_1_date_time": "1:56 pm on 38 May, 2023"}, "does not exist"),
            ({"session_1": []}, "the session's time is None"),
            ({"session_1": 5, "session_1_date_time": "1:56 pm on 8 May, 2023"}, "not in the form of LoCoMo"),
        ],
    )
    def test_what_is_wrong_is_named(self, tmp_path: Path, said: dict[str, object], wrong: str) -> None:
        """The file, the conversation and the session are named."""
        path = tmp_path / "a.json"
        path.write_text(json.dumps([conversation(conversation=said)]))

        with pytest.raises(InvalidInput, match=wrong) as caught:
            read_inputs([path])

        assert "a.json: conv-1, session_1: " in str(caught.value)


class TestDetect:
    def test_files_in_the_order_given(self, tmp_path: Path, locomo_file: Path) -> None:
        """Kinds are told apart by content; a line's own space stays."""
        (tmp_path / "b.txt").write_bytes(line_of() + b"\n" + line_of(space="own"))

        lines = read_inputs([tmp_path / "b.txt", str(locomo_file)], space="work").lines

        assert [line.space for line in lines] == ["work", "own", "work", "work", "work"]
        assert f"{tmp_path}/b.txt:2" == lines[1].origin

    def test_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A dash is standard input."""
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(line_of())))

        assert [line.origin for line in read_inputs(["-"]).lines] == ["standard input:1"]

    @pytest.mark.parametrize(
        ("data", "said"),
        [
            (b"", "is empty"),
            (b"\n\n", "no turns in"),
            (b"[]", "is an empty list"),
            (b"[1", "begins like a JSON list and is not one"),
            (b"[1, 2]", "is a JSON list of another kind"),
            (b"{\n}", "is one JSON object over many lines"),
            (b"\x1f\x8b\x08", "is packed by gzip"),
            (b"PK\x03\x04..", "is a zip archive"),
            (b"PAR1....", "is a Parquet file"),
            (b"\xff\xfe{\0", "is UTF-16 text"),
            (b"\x7fELF\0\0", "is a binary file"),
            (b"Dear diary,\n", "1 bad line in"),
            (b'[{"title": "a", "mapping": {}}]', "is a ChatGPT export"),
            (b'[{"chat_messages": []}]', "is a Claude export"),
            (b'[{"role": "user", "content": "hi"}]', "is a list of turns in one document"),
        ],
    )
    def test_other_kinds_are_refused(self, tmp_path: Path, data: bytes, said: str) -> None:
        """Each with what it is, and how to make it one that is read."""
        path = tmp_path / "input"
        path.write_bytes(data)

        with pytest.raises(InvalidInput) as caught:
            read_inputs([path])

        assert str(path) in str(caught.value)
        assert said in str(caught.value)

    def test_what_is_no_file_is_refused(self, tmp_path: Path) -> None:
        """Directories, missing files and impossible names each have their words."""
        for path, said in [
            (tmp_path, "is a directory; name the files in it"),
            (tmp_path / "none.jsonl", "there is no file"),
            (tmp_path / "\0", "cannot be opened"),
        ]:
            with pytest.raises(InvalidInput, match=said):
                read_inputs([path])

    def test_an_input_is_named_once(self, tmp_path: Path) -> None:
        """Nothing to read, and the same file twice, are mistakes."""
        with pytest.raises(InvalidInput, match="no input named"):
            read_inputs([])
        with pytest.raises(InvalidInput, match="given twice"):
            read_inputs([tmp_path / "a", tmp_path / "a"])

    def test_skip_bad_never_leaves_nothing(self, tmp_path: Path) -> None:
        """Bad lines are left out on request, but not all of a file."""
        path = tmp_path / "a.jsonl"
        path.write_bytes(line_of() + b"\n{\n")

        inputs = read_inputs([path], skip_bad=True)

        assert (len(inputs.lines), len(inputs.problems)) == (1, 1)
        path.write_bytes(b'{"user"\n{\n')
        with pytest.raises(InvalidInput, match="every line is bad"):
            read_inputs([path], skip_bad=True)


class TestIdentity:
    def test_ids_are_uuids_of_version_8(self) -> None:
        """With and without a turn_id, and the same every time."""
        lines = [turn("a", 1, turn_id="m1"), turn("b", 2)]

        ids = command_ids(lines, KEY)

        assert [(uuid.UUID(text).version, uuid.UUID(text).variant) for text in ids] == [(8, uuid.RFC_4122)] * 2
        assert ids == command_ids(lines, KEY)

    def test_a_recorded_id_stays(self) -> None:
        """Ids are kept in the log: how they are made is never changed."""
        made = identities([turn("a", 1, turn_id="m1"), turn("a", 2, occurred_at=5, meta={"b": 1, "a": 2})], KEY)

        assert [(identity.command_id, identity.turn_id) for identity in made] == [
            ("ee153aa0-5b35-871d-95fb-06b64b0af715", "m1"),
            ("d04e6546-d611-8768-8c73-9faf3af61da7", "t-d04e6546d6115768"),
        ]

    def test_everything_that_names_a_turn_counts(self) -> None:
        """Another key, space, user, conversation or turn_id is another id; content and time are not asked."""
        line = turn("a", turn_id="m1")
        others = [msgspec.structs.replace(line, **{field: "other"}) for field in ("space", "user", "conversation", "turn_id")]

        ids = {*command_ids([line, *others], KEY), *command_ids([line], b"another secret")}

        assert len(ids) == 6
        assert command_ids([line], KEY) == command_ids([turn("b", 9, turn_id="m1", occurred_at=5)], KEY)

    def test_without_a_turn_id_all_fields_count(self) -> None:
        """Any field, and an absent one unlike an empty one; where it was read does not."""
        base = turn("a")
        changes: list[dict[str, object]] = [
            {"role": "tool"},
            {"content": "b"},
            {"speaker": "M"},
            {"occurred_at": 0},
            {"channel": "c"},
            {"agent": "c"},
            {"importance": 0.0},
            {"meta": {}},
            {"conversation": "c"},
            {"user": "c"},
        ]
        lines = [base, *(msgspec.structs.replace(base, **change) for change in changes)]

        ids = command_ids(lines, KEY)

        assert len(set(ids)) == len(lines)
        assert ids[:1] == command_ids([turn("a", 77)], KEY)

    def test_equal_lines_are_told_apart_by_their_count(self) -> None:
        """Saying "ok" twice is two turns, and a longer file finds the same two again."""
        two = identities([turn("ok", 1), turn("ok", 2)], KEY)

        three = identities([turn("ok", 1), turn("no", 2), turn("ok", 3), turn("ok", 4)], KEY)

        assert two[0] != two[1]
        assert two == [three[0], three[2]]

    def test_a_repeat_has_the_id_of_its_first(self) -> None:
        """The same turn twice in one input is one command."""
        first, second = identities([turn("a", 1, turn_id="m1"), turn("a", 2, turn_id="m1")], KEY)

        assert (first.repeat, second.repeat) == (False, True)
        assert first.command_id == second.command_id

    def test_one_turn_id_for_two_contents_is_refused(self) -> None:
        """Both lines are named."""
        with pytest.raises(InvalidInput, match=r"a.jsonl:9: turn_id 'm1' .* at a.jsonl:1 with other content"):
            identities([turn("a", 1, turn_id="m1"), turn("b", 9, turn_id="m1")], KEY)

    def test_lines_need_a_space_and_a_key(self) -> None:
        """Ids of an undecided space would not be found again: that is a mistake in the program."""
        with pytest.raises(ValueError, match="no space yet"):
            identities([turn("a", space="")], KEY)
        with pytest.raises(ValueError, match="need a key"):
            identities([], b"")


class TestDemo:
    def test_the_bundled_conversation_can_be_ingested(self) -> None:
        """One user, some months, each turn with a time of its own and an id."""
        lines = read_inputs([demo.CONVERSATION], space="default").lines

        times = [line.occurred_at or 0 for line in lines]
        assert times == sorted(set(times))
        assert {demo.USER} == {line.user for line in lines}
        assert len(lines) == len({line.turn_id for line in lines}) == 96
        assert len({line.conversation for line in lines}) == 8
