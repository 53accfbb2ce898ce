"""Commands for ``openstack``, and for ``baremetal`` of python-ironicclient.

python-ironicclient and osc-placement provide the other commands. Hooks of cliff add options to some of them.
"""

from typing import Any

from ironic_traits.client import Client


def client(app: Any, **options: Any) -> Client:
    """Return a client with the endpoint and the credentials of python-ironicclient's commands.

    :param options: options of ironic_traits.client.Client.
    """
    http = app.client_manager.baremetal.http_client
    return Client(http.session, endpoint_override=http.endpoint_trimmed, **options)
