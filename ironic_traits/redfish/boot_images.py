"""Images that machines boot: what is wrong with their URLs, before a BMC fetches them."""

import logging
import urllib.parse
from http import HTTPStatus
from typing import Any

import requests

from ironic_traits.redfish.addresses import BadAddress
from ironic_traits.redfish.connections import Adapter, Limits, Stopped

LOG = logging.getLogger(__name__)

#: Bytes before the first volume descriptor of an ISO 9660 image, and of this descriptor.
_LEAST = 32768 + 2048
_GONE = (HTTPStatus.NOT_FOUND, HTTPStatus.GONE)


class BadImage(Exception):
    """An image that cannot be booted. The text is a sentence, without the URL, which may have a password."""


def check_url(name: str, value: Any) -> None:
    """Raise BadImage if the value of a field is no URL that a BMC can fetch.

    :param name: of the field.
    """
    try:
        parts = urllib.parse.urlsplit(value if isinstance(value, str) else '')
        is_url = parts.scheme in ('http', 'https') and parts.hostname and (parts.port or True)
    except ValueError:
        is_url = False
    if not is_url or not value.isprintable() or ' ' in value:
        raise BadImage(f'{name} must be a URL with http or https.')


def check(url: str, timeout: float, local: bool) -> None:
    """Raise BadImage if a server shows by HEAD that an image cannot be booted.

    A server that cannot be reached shows nothing: BMCs are often in another network.

    :param timeout: seconds for all requests.
    :param local: whether addresses of this machine and its link are allowed.
    """
    limits = Limits(timeout, timeout, local)
    with requests.Session() as session:
        # No proxies of the environment, and no passwords of a file .netrc.
        session.trust_env = False
        for scheme in ('http://', 'https://'):
            session.mount(scheme, Adapter(limits))
        try:
            response = session.head(url, allow_redirects=True)
        except BadAddress as error:
            raise BadImage(f'The image has an address that is not allowed: {error}') from None
        except (requests.RequestException, OSError, ValueError, Stopped) as error:
            LOG.info('The server of an image could not be asked for it: %s', type(error).__name__)
            return
        finally:
            limits.close()
    size = response.headers.get('Content-Length', '')
    if response.status_code in _GONE:
        raise BadImage(f'The server of the image answers {response.status_code}.')
    # Some servers do not know the size, and answer 0.
    if response.ok and size.isdecimal() and 0 < int(size[:20]) < _LEAST:
        raise BadImage(f'The image has {size} bytes, so it is no ISO image.')
