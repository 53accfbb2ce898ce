"""Clusters of database servers on one machine: Galera with three nodes, and PostgreSQL with a synchronous standby.

A test module that needs a cluster starts it. Its servers are those of ``servers``. Each one can be killed, frozen and
started again.

The nodes of Galera begin with copies of one data directory, and get later changes by an incremental transfer (IST). So
they need no full transfers (SST), whose scripts are in another Debian package.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

import sqlalchemy as sa

from tests.support import freezing, servers
from tests.support.servers import GALERA, MariaDB, PostgreSQL, program

#: The library that gives a node its own clock (Debian's package faketime).
FAKETIME = pathlib.Path('/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1')
#: Galera considers a silent node dead after this time. The default is 5 seconds, during which nothing is committed.
#: The other nodes have Galera's usual time to agree on it (evs.install_timeout, evs.inactive_timeout): a busy machine
#: may need seconds. If they do not agree, they separate, too, and no node has a quorum until all are back.
EVICTION = {
    'evs.keepalive_period': 'PT0.3S',
    'evs.inactive_check_period': 'PT0.2S',
    'evs.suspect_timeout': 'PT1S',
    'gmcast.peer_timeout': 'PT1S',
    'gmcast.time_wait': 'PT1S',
}

#: The script of transfers. Its "address" is a file of the receiver, into which the sender writes the position to begin
#: at.
_TRANSFER = """#!/bin/sh
while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2 ;; --address) address=$2 ;; --datadir) folder=$2 ;; --gtid) position=$2 ;; --bypass) bypass=1 ;;
    esac
    shift
done
if [ "$role" = donor ]; then
    [ "$bypass" ] || exit 95
    echo "$position" > "$address.new" && mv "$address.new" "$address" && echo "done $position"
    exit
fi
file="${folder%/}/transfer"
rm -f "$file"
echo "ready $file"
for _ in $(seq 200); do
    [ -e "$file" ] && exec cat "$file"
    sleep 0.1
done
exit 110
"""


#: A table of 100 MB.
_LARGE_TABLE = "CREATE TABLE filled.filled AS SELECT repeat('x', 100000) FROM seq_1_to_1000"


class Freezable:
    """A server that can be frozen: its connections stay open, but it does not respond."""

    def freeze(self):
        """Stop all its processes."""
        freezing.freeze(self._process.pid)

    def thaw(self):
        """Continue its processes."""
        freezing.thaw(self._process.pid)

    def kill(self):
        """Kill all its processes. Frozen processes of PostgreSQL would not notice the death of the first one."""
        if self._process and self._process.poll() is None:
            freezing.signal_all(self._process.pid, signal.SIGKILL)
        super().kill()


class GaleraNode(Freezable, MariaDB):
    """A node of a Galera cluster. ``start`` joins it to the cluster, also after it was killed."""

    @classmethod
    def installed(cls):
        """Whether its programs and Galera are installed."""
        return super().installed() and GALERA.exists()

    def __init__(self, number):
        super().__init__()
        self.number = number
        self.group_port, self._transfer_port = servers.free_port(), servers.free_port()
        self.addresses = []
        self._arguments = []
        self._clock = {}
        script = self.directory / 'wsrep_sst_tests'
        script.write_text(_TRANSFER)
        script.chmod(0o755)

    def start_cluster(self):
        """Start the node as the first one of a new cluster."""
        self._arguments = ['--wsrep-new-cluster']
        super().start()

    def start(self):
        """Start the node, and wait until it is synced."""
        self._arguments = [f'--wsrep-start-position={self._position()}'] if self._process else []
        super().start()

    def _as_user(self):
        # The server looks for the script of transfers in PATH.
        environment = os.environ | {'PATH': f'{self.directory}:{os.environ.get("PATH", "")}'}
        return super()._as_user() | {'env': environment | self._clock}

    def end(self):
        """Stop the node as an operator does."""
        self._process.terminate()
        self._process.wait(60)

    def command(self):
        options = {
            'gmcast.listen_addr': f'tcp://127.0.0.1:{self.group_port}',
            'ist.recv_addr': f'127.0.0.1:{self._transfer_port}',
            'gcache.size': '64M',
            'pc.recovery': 'false',
            **EVICTION,
        }
        return [
            *super().command(),
            '--wsrep-on=ON',
            f'--wsrep-provider={GALERA}',
            f'--wsrep-cluster-address=gcomm://{",".join(self.addresses)}',
            f'--wsrep-provider-options={";".join(f"{name}={value}" for name, value in options.items())}',
            f'--wsrep-node-name=node{self.number}',
            '--wsrep-node-address=127.0.0.1',
            '--wsrep-sst-method=tests',
            '--wsrep-slave-threads=2',
            '--binlog-format=ROW',
            '--innodb-autoinc-lock-mode=2',
            '--innodb-buffer-pool-size=32M',
            *self._arguments,
        ]

    def set_clock(self, seconds):
        """Set the node's clock forward or back. Call it once before the start, with 0. It takes a second."""
        path = self.directory / 'clock'
        path.write_text(f'{seconds:+}\n')
        self._clock = {
            'LD_PRELOAD': str(FAKETIME),
            'FAKETIME_TIMESTAMP_FILE': str(path),
            'FAKETIME_CACHE_DURATION': '1',
            'FAKETIME_DONT_FAKE_MONOTONIC': '1',
        }

    def isolate(self, is_isolated):
        """Cut the connections to the other nodes, or allow them again."""
        self.query(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate = {int(is_isolated)}'")

    def desync(self, is_desynced):
        """Let the other nodes not wait for this one, or wait again."""
        self.query(f'SET GLOBAL wsrep_desync = {"ON" if is_desynced else "OFF"}')

    def refuses_writes(self):
        """Whether the node cannot store 100 MB, for example because its disk is full. The other nodes do not get them.

        Delete the database "filled" if it can.
        """
        try:
            for statement in ('CREATE DATABASE filled', _LARGE_TABLE):
                self.query(statement, 'SET SESSION wsrep_on = OFF')
        except Exception:
            return True
        self.query('DROP DATABASE filled', 'SET SESSION wsrep_on = OFF')
        return False

    def status(self, name):
        """Return a value of SHOW GLOBAL STATUS; None if the node does not respond."""
        with contextlib.suppress(Exception):
            return self.query(f"SHOW GLOBAL STATUS LIKE '{name}'")[0][1]

    def is_in_cluster(self):
        """Whether it belongs to the nodes with a quorum, and is synced with them."""
        if self.status('wsrep_cluster_status') != 'Primary' or not self._answers():
            return False
        with contextlib.suppress(Exception):
            # While the nodes detect a silent one, they still report to be primary. This query waits for the end of
            # that.
            return bool(self.query('SELECT 1', 'SET SESSION wsrep_sync_wait = 1'))
        return False

    def query(self, statement, first=None):
        """Execute a statement, and return its rows.

        :param first: a statement before it, in the same session.
        """
        import pymysql

        options = {'connect_timeout': 2, 'read_timeout': 5, 'init_command': first}
        with contextlib.closing(
            pymysql.connect(host='127.0.0.1', port=self.port, user='root', ssl_disabled=True, **options)
        ) as connection:
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall()

    def _answers(self):
        return self.status('wsrep_local_state') == '4' and self.status('wsrep_ready') == 'ON'

    def _position(self):
        """Return the position of the node in the cluster's history, after a kill."""
        command = [each for each in self.command() if not each.startswith('--wsrep-start-position')]
        done = subprocess.run(
            [*command, '--wsrep-recover', '--log-error-verbosity=3'][:-1],
            capture_output=True,
            text=True,
            cwd='/',
            timeout=60,
            **self._as_user(),
        )
        return re.findall(r'Recovered position: (\S+)', done.stderr + done.stdout)[-1]


class Galera:
    """A cluster of three nodes.

    :ivar nodes: [GaleraNode, …].
    """

    name = 'galera'

    def __init__(self):
        self.nodes = [GaleraNode(number) for number in range(3)]
        for node in self.nodes:
            node.addresses = [f'127.0.0.1:{each.group_port}' for each in self.nodes]

    @staticmethod
    def installed():
        """Whether its requirements are installed."""
        return GaleraNode.installed()

    def start(self):
        """Start all nodes."""
        first, *others = self.nodes
        first._run(*first.make_data_directory())
        # The first start of Galera creates its own tables.
        first.start_cluster()
        first.end()
        for node in others:
            shutil.copytree(first.directory / 'data', node.directory / 'data')
        first.start_cluster()
        for node in others:
            node.start()

    def settle(self):
        """Wait until all nodes are synced."""
        deadline = time.monotonic() + 60
        while not all(node._answers() and node.status('wsrep_cluster_size') == '3' for node in self.nodes):
            if time.monotonic() > deadline:
                raise RuntimeError('the nodes of the cluster do not come together')
            time.sleep(0.1)

    def wait_without_first(self):
        """Wait until the other nodes have noticed the fault of the first one, and commit."""
        deadline = time.monotonic() + 60
        while not all(node.is_in_cluster() for node in self.nodes[1:]):
            if time.monotonic() > deadline:
                states = [node.status('wsrep_cluster_status') for node in self.nodes]
                raise RuntimeError(f'the cluster has no quorum: {states}')
            time.sleep(0.1)

    def stop(self):
        """Kill all nodes, and remove their data."""
        for node in self.nodes:
            node.stop()

    def create(self, name):
        """Create a database, and return its SQLAlchemy URL, with all nodes."""
        return _with_hosts(self.nodes[0].create(name), self.nodes)


class PostgresNode(Freezable, PostgreSQL):
    """A server of a pair."""

    def query(self, statement):
        """Execute a statement, and return its rows."""
        import psycopg2

        with contextlib.closing(
            psycopg2.connect(host='127.0.0.1', port=self.port, user='tests', dbname='postgres', connect_timeout=5)
        ) as connection:
            connection.autocommit = True
            cursor = connection.cursor()
            cursor.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def refuses_writes(self):
        """Whether the server cannot store 100 MB, for example because its disk is full."""
        try:
            self.query('CREATE TABLE filled AS SELECT md5(n::text) FROM generate_series(1, 1500000) AS n')
        except Exception:
            return True
        self.query('DROP TABLE filled')
        return False


class PostgresPair:
    """PostgreSQL with a synchronous standby, which ``promote`` makes the primary.

    :ivar nodes: [the first primary, the first standby].
    """

    name = 'postgresql'

    def __init__(self):
        self.nodes = [PostgresNode(), PostgresNode()]

    @staticmethod
    def installed():
        """Whether its requirements are installed."""
        return PostgresNode.installed() and bool(program('pg_basebackup'))

    def start(self):
        """Start both."""
        primary, standby = self.nodes
        primary.start()
        if servers.ROOT:
            shutil.chown(standby.directory, standby.user)
        address = ['-h', '127.0.0.1', '-p', str(primary.port), '-U', 'tests']
        standby._run(program('pg_basebackup'), *address, '-D', str(standby.directory / 'data'), '-R', '-c', 'fast')
        standby.start()
        primary.query("ALTER SYSTEM SET synchronous_standby_names = '*'")
        primary.query('SELECT pg_reload_conf()')

    def promote(self):
        """Make the standby the primary."""
        self.nodes[1].query('SELECT pg_promote()')

    def wait_without_first(self):
        """Wait until the standby accepts writes."""
        deadline = time.monotonic() + 60
        while self.nodes[1].query('SELECT pg_is_in_recovery()')[0][0]:
            if time.monotonic() > deadline:
                raise RuntimeError('the standby is not promoted')
            time.sleep(0.1)

    def stop(self):
        """Kill both, and remove their data."""
        for node in self.nodes:
            node.stop()

    def create(self, name):
        """Create a database, and return its SQLAlchemy URL, with both hosts."""
        return _with_hosts(self.nodes[0].create(name), self.nodes)


CLUSTERS = {'galera': Galera, 'pair': PostgresPair}


def urls_by_node(cluster, url):
    """Return the URLs of a database on each node of a cluster.

    :param url: URL of the database with all nodes, as ``cluster.create`` returns it.
    """
    base = sa.make_url(url).difference_update_query(['host']).set(host='127.0.0.1')
    return [base.set(port=node.port).render_as_string(hide_password=False) for node in cluster.nodes]


def _with_hosts(url, nodes):
    """Return the URL of a database with the addresses of several servers."""
    addresses = [f'127.0.0.1:{node.port}' for node in nodes]
    return (
        sa.make_url(url)
        .set(host=None, port=None)
        .update_query_dict({'host': addresses})
        .render_as_string(hide_password=False)
    )
