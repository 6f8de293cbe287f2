"""Every placement keeps the contract of writers; and what only writers on Ray have to show."""

import os
import pickle
import signal
import threading
from collections.abc import Iterator
from typing import ClassVar

import pytest
from builders import ANN, turn
from remote import Writing, client
from writer_contract import WriterContract, inline, said

from events import errors
from events.errors import (
    Busy,
    ClusterUnavailable,
    InvalidInput,
    MemoryActorsError,
    OutcomeUnknown,
    StoreDamaged,
    UnknownUser,
)
from events.ids import StreamId
from events.log.file_log import FileLog
from events.log.store import Store
from events.policy import Policy
from memory_actors.actors.writer import InlineWriter, acks
from memory_actors.cluster.address import check_address
from memory_actors.cluster.packing import CALL_BYTES, batches, packed, parts, unpacked


class TestInlineWriter(WriterContract):
    @pytest.fixture
    def writer(self, store: Store) -> InlineWriter:
        return inline(store)


@pytest.fixture(scope="module")
def ray_here() -> Iterator[None]:
    """One Ray of our own for all tests of this module."""
    from memory_actors.cluster.connection import start, stop

    owner = start("local")
    assert owner is not None
    yield
    stop(owner)


class RayContract(WriterContract):
    """What every placement on Ray has to show beside the contract."""

    settings: ClassVar[dict[str, object]] = {"enrichers": 0}

    @pytest.fixture
    def writer(self, store: Store) -> Iterator[Writing]:
        writer = Writing(client(store, **self.settings))
        yield writer
        writer.close()

    def test_two_clients_write_through_the_same_actor(self, writer: Writing, store: Store, log: FileLog) -> None:
        """It is found by its name."""
        import ray

        other = Writing(client(store, **self.settings))
        acks(writer.execute(ANN, [turn(1)]))
        acks(other.execute(ANN, [turn(2)]))

        pids = {ray.get(one.client.actor("user", ANN).pid.remote()) for one in (writer, other)}
        other.close()

        assert 1 == len(pids)
        assert ["turn 1", "turn 2"] == said(log, ANN)

    def test_an_idle_actor_ends_and_the_next_call_makes_another(self, store: Store, log: FileLog) -> None:
        """Nobody notices."""
        writer = Writing(client(store, idle_seconds=0.2, **self.settings))
        acks(writer.execute(ANN, [turn(1)]))
        old = writer.client.actor("user", ANN)
        ended(old)

        assert 2 == acks(writer.execute(ANN, [turn(2)]))[0].seq
        assert old != writer.client.actor("user", ANN)
        writer.close()

    def test_a_frozen_actor_is_given_up_in_time_and_the_outcome_is_unknown(self, store: Store, log: FileLog) -> None:
        """The deadline is for the whole call; a repeat with the same id settles it."""
        import ray

        writer, hasty = Writing(client(store, deadline=20, **self.settings)), Writing(client(store, deadline=2, **self.settings))
        acks(writer.execute(ANN, [turn(1)]))
        acks(hasty.execute(ANN, [turn(1)]))
        pid = ray.get(writer.client.actor("user", ANN).pid.remote())
        os.kill(pid, signal.SIGSTOP)

        with pytest.raises(OutcomeUnknown, match="in time"):
            hasty.execute(ANN, [turn(2)])

        os.kill(pid, signal.SIGCONT)
        assert 2 == acks(writer.execute(ANN, [turn(2)]))[0].seq
        assert ["turn 1", "turn 2"] == said(log, ANN)
        hasty.close()
        writer.close()


@pytest.mark.ray
@pytest.mark.usefixtures("ray_here")
class TestPerUser(RayContract):
    def test_another_policy_is_refused(self, writer: Writing, store: Store, log: FileLog) -> None:
        """The actor that is there decides by its own, whatever a second caller brings."""
        acks(writer.execute(ANN, [turn(1)]))
        strict = Writing(client(store, policy=other_policy(), **self.settings))

        with pytest.raises(InvalidInput, match="another policy"):
            strict.execute(ANN, [turn(2)])

        strict.close()
        assert ["turn 1"] == said(log, ANN)

    def test_beyond_a_bound_users_share_actors(self, store: Store, log: FileLog) -> None:
        """Six users, two actors of their own; the others in the pool. Another driver keeps to the same bound."""
        from memory_actors.cluster.directory import named_actors

        writer, other = (Writing(client(store, user_actors=2, **self.settings)) for _ in range(2))
        streams = [StreamId("home", f"u{number}") for number in range(6)]
        for stream in (*streams, *streams):
            acks(writer.execute(stream, [turn(1)]))
        acks(other.execute(StreamId("home", "u9"), [turn(1)]))

        names = [name.partition(":")[0] for name, _ in named_actors(writer.client._home.namespace)]
        assert names.count("user") in (1, 2)  # those of the test before may still be counted
        assert 1 <= names.count("pool") <= 4
        assert [["turn 1"]] * 6 == [said(log, stream) for stream in streams]
        writer.close()
        other.close()

    def test_a_copied_store_has_actors_of_its_own(self) -> None:
        """As has a folder of the same name on another node; the same store has the same."""
        from memory_actors.cluster.spec import Home

        here = Home.of("id", "/store", "node")

        assert here == Home.of("id", "/store", "node")
        assert 3 == len({here.namespace, Home.of("id", "/copy", "node").namespace, Home.of("id", "/store", "other").namespace})

    def test_nothing_is_asked_of_a_ray_that_was_shut_down(self, writer: Writing, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where Ray was the caller's own, it would start or find another one by itself."""
        import ray

        acks(writer.execute(ANN, [turn(1)]))
        writer.client._owner, owner = None, writer.client._owner
        monkeypatch.setattr(ray, "is_initialized", lambda: False)

        with pytest.raises(ClusterUnavailable, match="shut down"):
            writer.execute(ANN, [turn(2)])
        writer.client._owner = owner

    def test_closing_ends_the_actors_on_a_ray_that_goes_on(self, writer: Writing) -> None:
        """Ray is ended by the last who uses it."""
        import ray

        acks(writer.execute(ANN, [turn(1)]))
        actor = writer.client.actor("user", ANN)

        writer.close()

        ended(actor)
        assert ray.is_initialized()

    def test_stop_ends_the_actors_of_one_store(self, writer: Writing, store: Store) -> None:
        """And says which; the next call makes them anew."""
        from memory_actors.cluster.client import end_actors

        acks(writer.execute(ANN, [turn(1)]))

        names = end_actors("local", store, finish=True)

        assert [f"user:{ANN.folder}"] == names
        assert [] == end_actors("local", store, finish=True)
        assert 2 == acks(writer.execute(ANN, [turn(2)]))[0].seq


@pytest.mark.ray
@pytest.mark.usefixtures("ray_here")
class TestPool(RayContract):
    settings: ClassVar = {"placement": "pool:2", "enrichers": 0}

    def test_a_placement_may_change_while_actors_of_the_other_live(self, writer: Writing, store: Store, log: FileLog) -> None:
        """Two actors write one user, in turn: each finds what the other wrote."""
        own = Writing(client(store, enrichers=0))

        for number in range(0, 8, 2):
            acks(writer.execute(ANN, [turn(number)]))
            acks(own.execute(ANN, [turn(number + 1)]))
        [again] = acks(own.execute(ANN, [turn(0)]))

        own.close()
        assert again.duplicate
        assert [f"turn {number}" for number in range(8)] == said(log, ANN)


class TestPacking:
    def test_big_batches_are_cut_and_parts_are_small(self) -> None:
        """No argument is as large as what Ray keeps in its object store, no call as large as what it refuses."""
        commands = [turn(number, "x" * 1_000_000) for number in range(20)]

        bodies = [packed(batch) for batch in batches(commands)]

        assert commands == [command for body in bodies for command in unpacked(parts(body))]
        assert max(map(len, bodies)) <= CALL_BYTES
        assert max(len(part) for body in bodies for part in parts(body)) < 100_000

    def test_a_busy_actor_says_when_to_come_back(self) -> None:
        """Nobody returns before the time that Busy names; other waits are bounded."""
        from tenacity import RetryCallState, Retrying

        from memory_actors.cluster.fleet import LONGEST_WAIT, _wait

        state = RetryCallState(Retrying(), None, (), {})
        state.set_exception((Busy, Busy("wait", retry_after=30.0), None))
        busy = _wait(state)
        state.set_exception((OutcomeUnknown, OutcomeUnknown("gone"), None))

        assert 30.0 == busy
        assert 0 <= _wait(state) <= LONGEST_WAIT


def other_policy() -> Policy:
    """A policy that decides otherwise."""
    from events.policy import SessionRules

    return Policy(session=SessionRules(window=6, keep=3))


def ended(actor: object) -> None:
    """Until the actor has died; asking it does not keep it."""
    import ray
    from ray.exceptions import RayActorError

    def ask_for_ever() -> None:
        while True:
            ray.get(actor.hello.remote(), timeout=20)

    with pytest.raises(RayActorError):
        ask_for_ever()


@pytest.mark.parametrize("address", ["", " ", "ray://127.0.0.1:10001", "http://127.0.0.1:8265"])
def test_what_is_no_address_is_said(address: str) -> None:
    """With what an address would be."""
    with pytest.raises(InvalidInput, match="HOST:PORT"):
        check_address(address)


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1:1", "127.0.0.1:99999", "127.0.0.1:x"])
def test_where_no_ray_is_is_said_at_once(address: str) -> None:
    """Ray itself would try for ten minutes."""
    with pytest.raises(ClusterUnavailable, match="--ray local"):
        check_address(address)


def test_what_listens_may_be_no_ray() -> None:
    """It is spoken to as gRPC begins, and does not answer as gRPC does."""
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=lambda: server.accept()[0].sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), daemon=True).start()

        with pytest.raises(ClusterUnavailable, match="not Ray"):
            check_address(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize(
    "error",
    [
        UnknownUser("ann", "home", ("anna",)),
        Busy("others", retry_after=7.0),
        StoreDamaged("torn", "log/x.parquet", 3),
        *(kind("why") for kind in MemoryActorsError.__subclasses__() if kind not in (UnknownUser, Busy, StoreDamaged)),
    ],
    ids=lambda error: error.kind,
)
def test_errors_cross_processes_as_they_are(error: MemoryActorsError) -> None:
    """Type, words and fields."""
    copy = pickle.loads(pickle.dumps(error))

    assert (type(error), str(error), vars(error)) == (type(copy), str(copy), vars(copy))
    assert type(error) is getattr(errors, error.kind)
