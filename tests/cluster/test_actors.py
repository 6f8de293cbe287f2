"""A memory whose actors are on Ray: what it reads is what a memory in this process reads, whoever is killed meanwhile."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import embedders
import pytest
from clocks import TickingClock
from embedders import HashedStems
from histories import DAY, QUERIES, SENTENCES, SMALL, open_memory, tell

from events.errors import Busy, InvalidInput, OutcomeUnknown, UnknownUser
from events.ids import StreamId
from events.log.verify import verify
from memory_actors.actors.embedder_actor import Batches
from memory_actors.cluster.remote import ANYBODY
from memory_actors.ingest import enrich
from memory_actors.memory import Memory
from memory_actors.reads.reading import Reader
from memory_actors.settings import Settings
from memory_actors.user import Reads

ANN = StreamId("default", "ann")
PATIENCE = 40.0

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """One Ray of our own for all tests of this module. What the actors cannot import is sent as it is."""
    import ray

    ray.cloudpickle.register_pickle_by_value(embedders)
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    from memory_actors.cluster.connection import start, stop

    owner = start("local")
    assert owner is not None
    yield
    stop(owner)


class Standing:
    """A clock that stands still, so that two readers ask at the same moment."""

    def now(self) -> int:
        return 1_800_000_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store in which ann has said forty things, enriched, with episodes, topics and something forgotten."""
    clock = TickingClock(step=DAY // 50)
    memory = open_memory(tmp_path / "store", policy=SMALL, clock=clock)
    for number in range(40):
        tell(memory, "ann", SENTENCES[number % len(SENTENCES)], conversation=f"c{number // 15}", enriched=number % 4 == 3)
    memory.user("ann").forget("that I am vegetarian")
    memory.close()
    return tmp_path / "store"


@pytest.fixture
def opened(ray_here: None) -> Iterator[Callable[..., Memory]]:
    """Opens memories on Ray, and closes them whatever the test did."""
    made: list[Memory] = []

    def memory(folder: Path, **given: Any) -> Memory:
        settings = Settings(**{"recalls": "never", **given.pop("settings", {})})
        made.append(Memory(folder, ray="local", settings=settings, **{"policy": SMALL, "embedder": HashedStems(), **given}))
        return made[-1]

    yield memory
    for one in made:
        one.close(finish=False)


def answers(handle: Reads) -> list[object]:
    """What every read gives, in an order of its own. (Of a recorded event the payload; its vector is compared by its digest.)"""
    facts = handle.facts(all=True)
    return [
        *(handle.recall(query, k=20) for query in QUERIES),
        handle.recall(QUERIES[0], role="user", conversation="c1"),
        *(handle.context(query, budget=300) for query in (*QUERIES, None)),
        handle.facts(),
        handle.facts(valid_at="2026-01-01T00:00:00Z"),
        facts,
        *([(event.seq, event.data) for event in handle.why(fact.id)] for fact in facts),
        handle.episodes(),
        handle.topics(all=True),
        handle.session(),
        handle.session("c0"),
        handle.conversations(),
        [(event.seq, event.data, event.digest) for event in handle.events(after=3)],
        handle.begins,
        handle.pending(),
        handle.diff("@9"),
        handle.replay(SMALL),
    ]


@pytest.mark.parametrize("moment", [None, "@20", "2025-12-05T00:00:00Z", "2020-01-01T00:00:00Z"])
def test_every_read_is_the_inline_one(folder: Path, opened: Callable[..., Memory], moment: str | None) -> None:
    """To the bit: live, at a seq, at a time, and before the stream began."""
    here = open_memory(folder, policy=SMALL, clock=Standing())
    there = opened(folder, clock=Standing())

    expected, actual = (
        answers(memory.user("ann") if moment is None else memory.user("ann").as_of(moment)) if moment != "2020-01-01T00:00:00Z"
        else [memory.user("ann").as_of(moment).context("tea"), memory.user("ann").as_of(moment).begins]
        for memory in (here, there)
    )  # fmt: skip

    assert expected == actual
    here.close()


def test_a_projection_that_is_killed_between_two_reads_is_made_again(folder: Path, opened: Callable[..., Memory]) -> None:
    """The same answer, from a snapshot and the log; the seqs stand."""
    memory = opened(folder, clock=Standing())
    ann = memory.user("ann").as_of("now")
    before = ann.recall(QUERIES[0])
    killed = pid_of(memory, "projection")
    os.kill(killed, signal.SIGKILL)

    after = ann.recall(QUERIES[0])

    assert before == after
    assert killed != pid_of(memory, "projection")


def test_a_live_handle_reads_what_it_wrote_and_what_it_is_served_is_kept(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """The turn at once, what it means within the wait, and a recall in the log, without its text."""
    memory = opened(tmp_path / "store", settings={"recalls": "now", "wait_seconds": PATIENCE})
    ann = memory.user("ann")
    ack = ann.record("user", "I live in Porto.", id="m1")

    found = ann.recall("Where do I live?")
    memory.background.drain(ANN)

    assert [1] == [hit.seq for hit in found]
    assert ["Porto"] == [fact.value for fact in ann.facts()]
    assert found.pending == 0
    assert ack.seq <= found.basis.seq
    memory.close()
    assert "MemoryRecalled" in [event.type for event in open_memory(tmp_path / "store").user("ann").as_of("now").events()]


def test_answers_larger_than_a_reply_come_whole(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Megabytes, in parts, none of which enters the object store."""
    here = open_memory(tmp_path / "store", policy=SMALL)
    texts = [f"{number} " + "tea and boats " * 60_000 for number in range(12)]
    tell(here, "ann", *texts, enriched=False)
    here.close()
    memory = opened(tmp_path / "store", settings={"wait_seconds": 0.0})

    before = in_the_object_store()
    events = list(memory.user("ann").as_of("now").events())

    assert before == in_the_object_store()
    assert texts == [event.data.content for event in events if event.type == "TurnRecorded"]


def in_the_object_store() -> list[str]:
    """What Ray says of the memory that objects take there, on all nodes."""
    import ray
    from ray._private.internal_api import memory_summary

    here = ray.get_runtime_context().gcs_address
    return [line for line in memory_summary(address=here, stats_only=True).splitlines() if line.startswith("Plasma memory usage")]


def test_an_enricher_that_is_killed_again_and_again_leaves_nothing_out_and_nothing_twice(
    tmp_path: Path, opened: Callable[..., Memory]
) -> None:
    """The same derived events come out as in one process that nobody kills."""
    memory = opened(tmp_path / "store")
    ann = memory.user("ann")
    for number in range(24):
        ann.record("user", SENTENCES[number % len(SENTENCES)], id=f"m{number}")
        if number % 6 == 5:
            os.kill(pid_of(memory, "enricher"), signal.SIGKILL)
    memory.background.drain(ANN)

    here = open_memory(tmp_path / "here", policy=SMALL)
    for number in range(24):
        tell(here, "ann", SENTENCES[number % len(SENTENCES)], enriched=False)
    tell(here, "ann")
    expected, actual = (derived(one.user("ann").as_of("now")) for one in (here, memory))

    assert 0 == ann.pending()
    assert expected == actual
    assert verify(memory.log).ok


def pid_of(memory: Memory, role: str) -> int:
    """The process of the actor that is there now, or will be in a moment."""
    import ray
    from ray.exceptions import RayActorError

    while True:
        try:
            return ray.get(memory.projections._asks.actor(role, ANN).pid.remote(), timeout=PATIENCE)
        except RayActorError:
            continue


def derived(handle: Reads) -> dict[str, object]:
    """What came of the turns, whatever seqs it got."""
    return {
        "facts": [(row.category, row.key, row.value, row.status, row.confidence) for row in handle.facts(all=True)],
        "episodes": [(row.turn_start, row.turn_end, row.title, row.summary) for row in handle.episodes()],
        "topics": [(row.title, row.messages) for row in handle.topics(all=True)],
        "embedded": sum(event.type == "TurnEmbedded" for event in handle.events()),
    }


def test_callers_share_batches_of_one_model(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Eight clients at once: one actor has the model, and encodes what they ask together."""
    memory = opened(tmp_path / "store", embedder=Slow())
    embedder = memory.embedder
    alone = HashedStems()

    with ThreadPoolExecutor(8) as clients:
        found = list(clients.map(lambda text: embedder.embed([text]), [*SENTENCES] * 4))

    batches: Batches = memory.projections._asks.ask("embedder", ANYBODY, "batches")
    assert [alone.embed([text]).tolist() for text in [*SENTENCES] * 4] == [vectors.tolist() for vectors in found]
    assert 64 == batches.calls
    assert batches.batches < 64
    assert batches.largest > 1


class Slow(HashedStems):
    """An embedder that takes a while, as models do."""

    def embed(self, texts: Any) -> Any:
        from events import ambient

        ambient.pause(0.02)
        return super().embed(texts)


def test_it_works_inside_tasks_and_actors(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """On the Ray that they are on."""
    import ray

    memory = opened(tmp_path / "store", embedder="none")

    tasks = [ray.remote(num_cpus=0)(note).remote(str(memory.store.path), number) for number in range(3)]
    actor = ray.remote(num_cpus=0)(Caller).remote()
    seqs = ray.get([*tasks, actor.record.remote(str(memory.store.path), 3)], timeout=120)

    turns = [event for event in memory.user("ann").as_of("now").events() if event.type == "TurnRecorded"]
    assert sorted(seqs) == [event.seq for event in turns]
    assert {f"n{number}" for number in range(4)} == {event.data.turn_id for event in turns}


def note(path: str, number: int) -> int:
    """Record something, from wherever this is run."""
    with Memory(path, ray="auto", policy=SMALL, embedder="none") as inner:
        return inner.user("ann").record("user", f"note {number}", id=f"n{number}").first


class Caller:
    """An actor of the caller's own."""

    def record(self, path: str, number: int) -> int:
        return note(path, number)


def test_errors_keep_their_type(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Whoever raised them."""
    memory = opened(tmp_path / "store", embedder="none")
    memory.user("anna").record("user", "hello")

    with pytest.raises(UnknownUser, match="anna"):
        memory.user("ann").facts()
    with pytest.raises(InvalidInput, match="empty query"):
        memory.user("anna").recall(" ")
    with pytest.raises(InvalidInput, match="beyond the end"):
        memory.user("anna").as_of("@999").facts()


def test_an_embedder_that_the_actors_do_not_have_is_said(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """By the first call that needs it, at once; the actor lives."""
    import ray

    ray.cloudpickle.unregister_pickle_by_value(embedders)
    try:
        memory = opened(tmp_path / "store")
        with pytest.raises(InvalidInput, match="'embedders'"):
            memory.user("ann").record("user", "hello")
    finally:
        ray.cloudpickle.register_pickle_by_value(embedders)


def test_a_storm_of_activations(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Five hundred users who all come at once, beyond what has room: each is answered, in a stream of its own."""
    memory = opened(tmp_path / "store", embedder="none", settings={"user_actors": 2, "enrichers": 0})

    with ThreadPoolExecutor(16) as threads:
        seqs = list(threads.map(lambda number: memory.user(f"u{number}").record("user", "hello", id="m").seq, range(500)))

    assert [1] * 500 == seqs
    assert 500 == len(memory.users())


def test_what_a_live_read_was_served_is_kept_once_however_often_it_is_asked(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """A question whose answer was lost is asked again, with the same id."""
    memory = opened(tmp_path / "store", embedder="none", settings={"recalls": "now"})
    ann = memory.user("ann")
    ann.record("user", "I live in Porto.")
    question = ann._question(Reader.recall, ("Porto",))

    for _ in range(3):
        memory.projections.ask(ANN, question)

    assert 1 == sum(event.type == "MemoryRecalled" for event in ann.as_of("now").events())


def test_an_enricher_that_ended_is_made_again_when_there_is_work(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Nobody reads, and nobody waits: the user's actor tells it, and finds out that it has ended."""
    import ray

    memory = opened(tmp_path / "store", embedder="none")
    ann = memory.user("ann")
    ann.record("user", "I live in Porto.")
    memory.background.drain(ANN)
    ray.kill(memory.projections._asks.actor("enricher", ANN))

    for number in range(200):
        ann.record("user", f"I am vegetarian. {number}")
        if [row.value for row in ann.as_of("now").facts()] == ["Porto", "vegetarian"]:
            break

    assert ["Porto", "vegetarian"] == [row.value for row in ann.as_of("now").facts()]


def test_without_enrichers_what_is_known_is_read_and_forgotten(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """And what is due is said, and done by whoever is told to."""
    memory = opened(tmp_path / "store", embedder="none", settings={"enrichers": 0})
    ann = memory.user("ann")
    ann.record("user", "I live in Porto.")

    before = ann.recall("Porto").pending, ann.forget("Lisbon").pending
    enrich(memory, ANN)

    assert ((1, 1), 0) == (before, ann.pending())
    assert 2 == ann.forget("Porto").found


def test_a_model_that_fails_costs_a_read_one_leg(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """And background work is due until it is there."""
    memory = opened(tmp_path / "store", embedder=Full(), settings={"wait_seconds": 0.5, "deadline": 8.0})
    here = open_memory(tmp_path / "store", embedder=HashedStems(model="full"), policy=SMALL)
    tell(here, "ann", "I live in Porto.")
    here.close()

    found = memory.user("ann").recall("Where do I live?")

    assert ("I live in Porto.", ("dense",)) == (found.hits[0].content, found.missing)


class Full(HashedStems):
    """An embedder that has no room for anything."""

    def __init__(self) -> None:
        super().__init__(model="full")

    def embed(self, texts: Any) -> Any:
        raise Busy("there is no room")


def test_a_closed_memory_says_so(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Reads do not start another Ray, nor in a forked child."""
    memory = opened(tmp_path / "store", embedder="none", settings={"enrichers": 0})
    ann = memory.user("ann")
    ann.record("user", "hello")
    memory.projections._asks._process += 1
    with pytest.raises(InvalidInput, match="forked"):
        ann.facts()
    memory.projections._asks._process -= 1
    memory.close()

    with pytest.raises(InvalidInput, match="closed"):
        ann.facts()


def test_closing_under_calls_ends_them_with_an_error_of_ours(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Within seconds; nothing that was acknowledged is lost, and no actor is made again."""
    memory = opened(tmp_path / "store", embedder="none", settings={"enrichers": 0})
    acknowledged: list[int] = []

    def write(number: int) -> type[BaseException]:
        for turn in range(10_000):
            try:
                acknowledged.append(memory.user(f"u{number}").record("user", "hello", id=f"m{turn}").first)
            except BaseException as error:
                return type(error)
        raise AssertionError("it was never closed")

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(write, number) for number in range(4)]
        while len(acknowledged) < 40:
            threading.Event().wait(0.01)
        memory.close()
        errors = {one.result(30) for one in running}

    turns = [event for stream in memory.streams() for event in memory.log.read(stream).events if event.type == "TurnRecorded"]
    assert errors <= {InvalidInput, OutcomeUnknown}
    assert len(acknowledged) <= len(turns) <= len(acknowledged) + 4


def test_a_process_is_on_one_ray(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Another address is refused, and nothing of the first is touched."""
    memory = opened(tmp_path / "store", embedder="none", settings={"enrichers": 0})

    with pytest.raises(InvalidInput, match="close its memories first"):
        Memory(tmp_path / "other", ray="127.0.0.1:1", embedder="none")

    assert 1 == memory.user("ann").record("user", "hello").seq


def test_a_ray_that_was_killed_is_started_again(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Under a memory that is open: what it knew is in the log."""
    memory = opened(tmp_path / "store", embedder="none", settings={"enrichers": 0, "deadline": 120})
    memory.user("ann").record("user", "one", id="m1")
    kill_ray()

    ack = memory.user("ann").record("user", "two", id="m2")

    assert (2, False) == (ack.seq, ack.duplicate)


@pytest.mark.slow
@pytest.mark.timeout(600)  # letting go of a Ray that is dead takes it up to a minute
def test_a_ray_that_was_killed_is_started_again_under_all_who_use_it(tmp_path: Path, opened: Callable[..., Memory]) -> None:
    """Two memories, of two stores, with threads in the middle of calls: what they knew is in the log."""
    memories = [opened(tmp_path / name, embedder="none", settings={"enrichers": 0, "deadline": 180}) for name in ("a", "b")]

    def write(number: int) -> list[int]:
        user = memories[number % 2].user(f"u{number}")
        return [user.record("user", f"note {turn}", id=f"m{turn}").first for turn in range(30)]

    with ThreadPoolExecutor(4) as threads:
        running = [threads.submit(write, number) for number in range(4)]
        while not memories[0].users() or not memories[1].users():
            threading.Event().wait(0.01)
        kill_ray()
        seqs = [one.result() for one in running]

    for number, acknowledged in enumerate(seqs):
        events = memories[number % 2].log.read(StreamId("default", f"u{number}")).events
        turns = [event for event in events if event.type == "TurnRecorded"]
        assert [f"m{turn}" for turn in range(30)] == [event.data.turn_id for event in turns]
        assert acknowledged == [event.seq for event in turns]
    assert all(verify(memory.log).ok for memory in memories)
    memories[0].close()
    assert memories[1].user("u1").record("user", "note 0", id="m0").duplicate


def kill_ray() -> None:
    """Its node and its head, at once."""
    from memory_actors.cluster.connection import _children

    for pid in _children(os.getpid()):
        if Path(f"/proc/{pid}/comm").read_text().strip() in ("raylet", "gcs_server"):
            os.kill(int(pid), signal.SIGKILL)
