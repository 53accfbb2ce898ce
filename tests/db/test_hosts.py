"""The hosts of a database: how a URL names them, and which one is in use."""

import pytest
import sqlalchemy as sa

from ironic_traits.db import hosts, timeouts

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
        ('postgresql+psycopg2:///name?host=/run/postgresql', [('', None)]),
    ],
)
def test_addresses(url, expected):
    assert hosts.addresses(sa.make_url(url)) == expected


class Driver:
    """A driver, to whose hosts nobody can connect but to those that are ``up``."""

    class Error(Exception):
        """An error of the driver."""

    OperationalError = Error

    def __init__(self, *up):
        self.up, self.tried = up, []
        self.name, self.loaded_dbapi = 'postgresql', self

    def connect(self, **options):
        self.tried.append(options['host'])
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
    # The one that was left is tried last, and the other one is read-only.
    assert driver.tried == ['replica', 'three']
    driver.up = ('one',)
    connect(its_hosts, driver)
    assert driver.tried == ['three', 'one'] or driver.tried == ['three', 'replica', 'one']


def test_a_slow_connection_does_not_switch_back():
    """While one thread connects to a host, others have left it. The connection is replaced when it is used."""
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
