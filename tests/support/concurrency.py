"""Clients that work concurrently."""

import concurrent.futures
import multiprocessing
import time

#: Number of clients of the ``clients`` fixture.
CLIENTS = 16

#: Processes are forks of one that has imported the service, because the import takes a second of CPU.
_PROCESSES = multiprocessing.get_context('forkserver')
_PROCESSES.set_forkserver_preload(
    [
        'tests.support.client',
        'tests.support.service',
        'psycopg',
        'pymysql',
        'pytest',
        'sqlalchemy.dialects.mysql.pymysql',
        'sqlalchemy.dialects.postgresql.psycopg',
        'sqlalchemy.dialects.sqlite.pysqlite',
    ]
)


def wait_until(condition, seconds=30):
    """Wait until a condition, a function without arguments, holds.

    :raises TimeoutError: it does not hold in time.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.001)


def at_once(clients, work):
    """Run the work of all clients concurrently, and return the results.

    :param work: function of a client and its number.
    :returns: [result of the client, …].
    """
    with concurrent.futures.ThreadPoolExecutor(len(clients)) as pool:
        return list(pool.map(work, clients, range(len(clients))))


def in_processes(count, work, *arguments):
    """Run some work in several processes at once, and return the results.

    :param work: function at the top level of a module. Its arguments are the number of
        the process, a function that waits for all processes, and the arguments. It returns a list.
    :returns: the lists of all processes as one.
    """
    barrier, results = _PROCESSES.Barrier(count), _PROCESSES.Queue()
    processes = [
        _PROCESSES.Process(target=_work, args=(results, work, number, barrier, arguments)) for number in range(count)
    ]
    for process in processes:
        process.start()
    gathered = [result for _ in processes for result in results.get(timeout=500)]
    for process in processes:
        process.join()
    return gathered


def process(work, *arguments):
    """Start some work in a process, and return the process.

    :param work: function at the top level of a module.
    """
    started = _PROCESSES.Process(target=work, args=arguments)
    started.start()
    return started


def _work(results, work, number, barrier, arguments):
    results.put(work(number, barrier.wait, *arguments))
