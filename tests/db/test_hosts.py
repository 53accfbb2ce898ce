"""The hosts of a database: their form in the URL, and the choice of the one in use."""

import contextlib
import re

import psycopg2
import pymysql
import pytest
import sqlalchemy as sa
from psycopg2 import extensions

from ironic_traits.db.drivers import timeouts
from ironic_traits.db.failover import hosts

LIMITS = timeouts.Limits(connect=2, lock=30, statement=40)


@pytest.mark.parametrize(
    ('url', 'expected'),
    [
        ('mysql+pymysql://one/name', [('one', None)]),
        ('mysql+pymysql://one:3307/name', [('one', 3307)]),
        ('mysql+pymysql://user:pw@one,two,three/name', [('one', None), ('two', None), ('three', None)]),
        ('mysql+pymysql://one,two:3307/name', [('one', 3307), ('two', 3307)]),
        ('postgresql+psycopg2://user@/name?host=one:5433&host=two', [('one', 5433), ('two', None)]),
        ('postgresql+psycopg2:///name?host=one,two&port=5432,5433', [('one', 5432), ('two', 5433)]),
        ('postgresql+psycopg2:///name?host=one,two&port=5432&port=5433', [('one', 5432), ('two', 5433)]),
        ('postgresql+psycopg2:///name?host=one,two&port=5432,', [('one', 5432), ('two', None)]),
        ('postgresql+psycopg2:///name?host=one,two&port=5433', [('one', 5433), ('two', 5433)]),
        ('postgresql+psycopg2:///name?host=one&host=two&port=5433', [('one', 5433), ('two', 5433)]),
        ('postgresql+psycopg2:///name?host=one:1&host=two&port=5433', [('one', 1), ('two', 5433)]),
        ('postgresql+psycopg2://one,two/name?port=5433', [('one', 5433), ('two', 5433)]),
        ('postgresql+psycopg2:///name?host=/run/postgresql', [('', None)]),
        ('postgresql+psycopg2:///name?host=fd00::1', [('fd00::1', None)]),
        ('postgresql+psycopg2:///name?host=[fd00::1]:5433', [('fd00::1', 5433)]),
        ('postgresql+psycopg2:///name?host=fd00::1&host=fd00::2', [('fd00::1', None), ('fd00::2', None)]),
        ('postgresql+psycopg2:///name?host=fd00::1,one&port=5433', [('fd00::1', 5433), ('one', 5433)]),
        ('postgresql+psycopg2:///name?host=[fd00::1]:1&host=[fd00::2]', [('fd00::1', 1), ('fd00::2', None)]),
        ('postgresql+psycopg2:///name?host=::1:2,fe80::1%25eth0', [('::1:2', None), ('fe80::1%eth0', None)]),
        ('mysql+pymysql://user@[fd00::1]:3307/name', [('fd00::1', 3307)]),
        ('mysql+pymysql://user@[fd00::1],[fd00::2]:3307/name', [('fd00::1', 3307), ('fd00::2', 3307)]),
        ('mysql+pymysql://user@[fd00::1]:1,[fd00::2]/name', [('fd00::1', 1), ('fd00::2', None)]),
        ('mysql+pymysql://user@[fd00::1],one,[fd00::3]/n', [('fd00::1', None), ('one', None), ('fd00::3', None)]),
    ],
)
def test_addresses(url, expected):
    assert hosts.addresses(sa.make_url(url)) == expected
    # The engine gets the first host only, in the form that its driver expects.
    first = hosts.Hosts(sa.make_url(url), LIMITS).url
    if expected != [('', None)]:
        assert (first.host, first.port) == expected[0]
        assert 'host' not in first.query


@pytest.mark.parametrize(
    'url',
    [
        'postgresql+psycopg2://user@/name?host=one:5433&host=two',
        'postgresql+psycopg2:///name?host=one,two&port=5432,5433',
        'postgresql+psycopg2:///name?host=one,two&port=5432,',
        'postgresql+psycopg2:///name?host=one,two',
        'postgresql+psycopg2://one,two:5433/name',
    ],
)
def test_addresses_are_those_of_sqlalchemy(url):
    """Except a single port for several hosts, and IPv6 addresses: SQLAlchemy refuses them."""
    url = sa.make_url(url)
    _, options = url.get_dialect()().create_connect_args(url)
    names, ports = (str(options.get(name, '')).split(',') for name in ('host', 'port'))
    ports *= len(names) if len(ports) == 1 else 1
    pairs = [(name, int(port) if port else None) for name, port in zip(names, ports, strict=True)]
    assert hosts.addresses(url) == pairs


@pytest.mark.parametrize(
    ('names', 'ports'),
    [('127.0.0.1,127.0.0.2', '1'), ('127.0.0.1,127.0.0.2', '1,2'), ('::1,127.0.0.1', '1'), ('::1,::1', '1,2')],
)
def test_addresses_are_those_of_libpq(names, ports):
    """Nothing listens on the ports, so the error message of libpq lists the addresses."""
    callback = extensions.get_wait_callback()
    # libpq names only the last host if there is a wait callback, which the service sets.
    extensions.set_wait_callback(None)
    try:
        with pytest.raises(psycopg2.OperationalError) as failure:
            psycopg2.connect(host=names, port=ports, connect_timeout=5)
    finally:
        extensions.set_wait_callback(callback)
    tried = re.findall(r'connection to server at "([^"]+)"(?: \([^)]*\))?, port (\d+) failed', str(failure.value))
    url = sa.make_url(f'postgresql+psycopg2:///name?host={names}&port={ports}')
    assert hosts.addresses(url) == [(name, int(port)) for name, port in tried]


@pytest.mark.parametrize(
    ('query', 'message'),
    [
        ('host=one,two,three&port=1,2', '2 ports for 3 hosts: name one for all of them, or one for each'),
        ('host=one:1&host=two&port=x', 'A port is not a number: x'),
    ],
)
def test_ports_that_do_not_fit(query, message):
    with pytest.raises(sa.exc.ArgumentError, match=message):
        hosts.addresses(sa.make_url(f'postgresql+psycopg2:///name?{query}'))


class Driver:
    """A driver that can connect only to the hosts in ``up``."""

    class Error(Exception):
        """An error of the driver."""

    OperationalError = Error
    driver = 'psycopg2'

    def __init__(self, *up):
        self.up, self.tried = up, []
        self.name, self.loaded_dbapi = 'postgresql', self

    def connect(self, **options):
        self.tried.append(options['host'])
        self.port = options.get('port')
        if options['host'] not in self.up:
            raise self.Error(options['host'])
        return self

    def cursor(self):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        pass

    def execute(self, statement):
        assert statement == 'SHOW transaction_read_only'

    def fetchone(self):
        return ('on' if self.tried[-1] == 'replica' else 'off',)

    def rollback(self):
        pass

    def close(self):
        pass


class Record:
    def __init__(self):
        self.info = {}


def connect(its_hosts, driver):
    record = Record()
    driver.tried.clear()
    its_hosts.connect(driver, record, [], {})
    return record


def test_the_next_host_is_used_until_it_fails():
    """A host that has failed is avoided, and connections to it are replaced."""
    its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2://one,replica,three/name'), LIMITS)
    driver = Driver('one', 'replica', 'three')
    record = connect(its_hosts, driver)
    assert driver.tried == ['one']
    its_hosts.check(None, record, None)
    its_hosts.leave(0)
    with pytest.raises(sa.exc.DisconnectionError):
        its_hosts.check(None, record, None)
    its_hosts.check(None, connect(its_hosts, driver), None)
    # The failed host is tried last, and the other one is read-only.
    assert driver.tried == ['replica', 'three']
    driver.up = ('one',)
    connect(its_hosts, driver)
    assert driver.tried == ['three', 'one'] or driver.tried == ['three', 'replica', 'one']


def test_the_default_port():
    """SQLAlchemy passes the port of the first host. It is not that of the second one."""
    its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2:///name?host=one:5433&host=two'), LIMITS)
    _, options = its_hosts.url.get_dialect()().create_connect_args(its_hosts.url)
    driver = Driver('one')
    its_hosts.connect(driver, Record(), [], options)
    assert (driver.tried, driver.port) == (['one'], 5433)
    driver.up = ('two',)
    its_hosts.leave(0)
    its_hosts.connect(driver, Record(), [], options)
    assert (driver.tried, driver.port) == (['one', 'two'], None)


def test_a_slow_connection_does_not_switch_back():
    """If other threads switch hosts while a thread connects, its connection is replaced before its use."""
    its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2://one,two/name'), LIMITS)
    connect(its_hosts, Driver('one', 'two'))

    class Slow(Driver):
        def connect(self, **options):
            its_hosts.leave(0)
            connect(its_hosts, Driver('two'))
            return super().connect(**options)

    record = connect(its_hosts, Slow('one', 'two'))
    assert its_hosts.current == 1
    with pytest.raises(sa.exc.DisconnectionError):
        its_hosts.check(None, record, None)


def test_no_host():
    its_hosts = hosts.Hosts(sa.make_url('postgresql+psycopg2://replica,two/name'), LIMITS)
    with pytest.raises(Driver.Error, match='read-only'):
        connect(its_hosts, Driver('replica'))
    with pytest.raises(Driver.Error, match='two'):
        connect(hosts.Hosts(sa.make_url('postgresql+psycopg2://two,replica/name'), LIMITS), Driver('replica'))


class _LaggingNode:
    """A connection to a node of a cluster that never gets the commits of the others, and is its own cursor."""

    def __init__(self, error):
        self._error, self._rows = error, ()

    def cursor(self):
        return contextlib.nullcontext(self)

    def execute(self, statement):
        if statement == 'SELECT 1':
            raise self._error
        self._rows = [('wsrep_on', 'ON'), ('wsrep_ready', 'ON'), ('wsrep_local_state', '4'), ('read_only', 'OFF')]

    def fetchall(self):
        return self._rows

    def rollback(self):
        pass


def test_a_node_that_does_not_catch_up():
    """It is passed over. The error of MariaDB is that of a lock, after which callers would use the node again."""
    error = pymysql.err.OperationalError(1205, 'Lock wait timeout exceeded; try restarting transaction')
    with pytest.raises(hosts.Unready, match='does not catch up'):
        hosts._check_for_use('mysql', _LaggingNode(error))
    lost = pymysql.err.OperationalError(2013, 'Lost connection to MySQL server during query')
    with pytest.raises(pymysql.err.OperationalError, match='Lost connection'):
        hosts._check_for_use('mysql', _LaggingNode(lost))
