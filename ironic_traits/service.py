"""What one process of the service works with."""

from ironic_traits import policies
from ironic_traits.db.engine import Database
from ironic_traits.deploy import drivers, validate


class Service:
    """The configuration, the database, and what operators plug in.

    :param conf: a parsed ConfigOpts (``ironic_traits.conf.make``).
    :ivar read: gives a connection for reading.
    :ivar write: gives a connection in a transaction.
    :ivar drivers: {name: ironic_traits.deploy.base.Driver}.
    :ivar hooks: [ironic_traits.deploy.validate.Hook, …].
    :ivar enforcer: oslo.policy's; None where everyone may do everything.
    """

    def __init__(self, conf):
        self.conf = conf
        self.database = Database(conf)
        self.read = self.database.read
        self.write = self.database.write
        self.drivers = drivers.load(conf)
        self.hooks = validate.load()
        self.enforcer = None if conf.api.auth_strategy in ('noauth', 'http_basic') else policies.enforcer(conf)

    def close(self):
        """Close what is open."""
        self.database.close()
