"""Threads for sources that block: all jobs run, and calls that hang are left behind."""

import queue
import threading
import time

import pytest

from miserly.runtime.pool import ThreadPool


def until(found, seconds=10.0):
    end = time.monotonic() + seconds
    while not found():
        assert time.monotonic() < end
        time.sleep(0.002)


def test_jobs_of_many_threads_are_all_done_once():
    pool, inbox, n = ThreadPool(4), queue.SimpleQueue(), 300

    def submit(first):
        for i in range(first, first + n):
            pool.submit(lambda i=i: i, lambda result, error: inbox.put(result))

    threads = [threading.Thread(target=submit, args=(first,)) for first in range(0, 5 * n, n)]
    for thread in threads:
        thread.start()
    assert sorted(inbox.get(timeout=10) for _ in range(5 * n)) == list(range(5 * n))
    assert 1 <= pool.n_threads <= 4


def test_a_thread_that_is_free_is_used_again():
    pool, inbox = ThreadPool(8), queue.SimpleQueue()
    for i in range(20):
        pool.submit(lambda i=i: i, lambda result, error: inbox.put(result))
        assert inbox.get(timeout=10) == i
        time.sleep(0.005)  # the thread counts as idle again a moment after it has called `done`
    assert pool.n_threads <= 2


def test_jobs_that_block_at_the_same_time_have_a_thread_each():
    pool, together = ThreadPool(6), threading.Barrier(6)
    inbox = queue.SimpleQueue()
    for _ in range(6):
        pool.submit(lambda: together.wait(10), lambda result, error: inbox.put(error))
    assert [inbox.get(timeout=10) for _ in range(6)] == [None] * 6


def test_abandoned_jobs_hold_threads_until_they_return_and_are_not_done():
    pool, let_go, inbox = ThreadPool(2), threading.Event(), queue.SimpleQueue()
    jobs = [pool.submit(let_go.wait, lambda result, error: inbox.put("hung")) for _ in range(2)]
    until(lambda: all(job.started for job in jobs))
    never = pool.submit(lambda: inbox.put("never"), lambda result, error: None)
    pool.abandon(never)
    with pytest.warns(RuntimeWarning, match="all 2 threads for sources are held"):
        for job in jobs:
            pool.abandon(job)
            pool.abandon(job)  # counts once
    assert pool.n_hung == 2 and pool.exhausted
    let_go.set()
    until(lambda: pool.n_hung == 0)
    pool.submit(lambda: 1, lambda result, error: inbox.put(result))
    assert inbox.get(timeout=10) == 1 and inbox.empty()


def test_jobs_abandoned_at_the_moment_they_end_hold_no_thread():
    pool, inbox = ThreadPool(4), queue.SimpleQueue()
    for i in range(3000):
        job = pool.submit(lambda: None, lambda result, error: None)
        if i % 3:
            time.sleep(0)
        pool.abandon(job)
    until(lambda: pool.n_hung == 0)
    pool.submit(lambda: "free", lambda result, error: inbox.put(result))
    assert inbox.get(timeout=10) == "free"


def test_submit_does_not_wait_for_a_thread_that_was_interrupted():
    """A thread that starts or ends another one may be interrupted at any time; an event loop must go on."""
    pool, inbox = ThreadPool(1), queue.SimpleQueue()
    pool.submit(lambda: 0, lambda result, error: inbox.put(result))
    assert inbox.get(timeout=10) == 0
    held, let_go = threading.Event(), threading.Event()

    def hold():
        with pool._lock:
            held.set()
            let_go.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(10)
    begun = time.monotonic()
    job = pool.submit(lambda: 1, lambda result, error: inbox.put(result))
    assert inbox.get(timeout=10) == 1
    pool.abandon(job)
    assert time.monotonic() - begun < 5.0
    let_go.set()
    other.join(10)


def test_a_closed_pool_ends_its_threads():
    pool, inbox = ThreadPool(3), queue.SimpleQueue()
    for _ in range(3):
        pool.submit(lambda: time.sleep(0.01), lambda result, error: inbox.put(1))
    for _ in range(3):
        inbox.get(timeout=10)
    pool.close()
    until(lambda: pool.n_threads == 0)
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(lambda: 1, lambda result, error: None)
