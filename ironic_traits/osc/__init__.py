"""Commands for the ``openstack`` command line, and for python-ironicclient's own ``baremetal``.

What python-ironicclient and osc-placement have is theirs; where it lacks an option, a hook of cliff gives it one.
"""

from ironic_traits.client import Client


def client(app, **options):
    """Give a client for a command: of the service that the base commands ask, and as who they ask.

    :param app: the cliff application.
    :param options: as a Client's.
    """
    http = app.client_manager.baremetal.http_client
    return Client(http.session, endpoint_override=http.endpoint_trimmed, **options)
