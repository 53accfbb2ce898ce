"""BMCs: how to log in, what they answer, and how to change the power state and the boot device of a System."""

import base64
import contextlib
import dataclasses
import json
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any

import requests
import sushy
from oslo_utils import strutils
from sushy import auth, exceptions
from sushy.resources import base
from sushy.resources.manager.virtual_media import VirtualMedia
from sushy.resources.system.system import System

from ironic_traits import masks
from ironic_traits.redfish import addresses
from ironic_traits.redfish.addresses import BadAddress
from ironic_traits.redfish.connections import Connector, Limits, Stopped
from ironic_traits.redfish.trees import ROOT, Unimplemented, Unreadable, objects, printable, text


class Failure(Exception):
    """A BMC that cannot be used, or that refuses a change. The text is a sentence, without passwords."""


class Refused(Failure):
    """A BMC that must not be asked again, such as one that refuses the password: that locks accounts."""


class Unknown(Refused):
    """A change, or a document, that a BMC or its machine does not know. Nothing was changed."""


class _SessionOrBasic(auth.SessionOrBasicAuth):
    """A session, or none if the BMC has none. A password that is refused is not tried again: that locks accounts."""

    def _do_authenticate(self) -> None:
        try:
            auth.SessionAuth._do_authenticate(self)
        except exceptions.ConnectionError:
            raise
        except exceptions.SushyError as error:
            # A BMC without sessions may refuse each path without a password, also the one that sushy guesses.
            root = self._root_resource.json
            if isinstance(error, exceptions.AccessError) and not root.keys().isdisjoint({'Links', 'SessionService'}):
                raise
            self._fallback_to_basic_authentication()


_AUTH = {'auto': _SessionOrBasic, 'basic': auth.BasicAuth, 'session': auth.SessionAuth}


@dataclasses.dataclass(frozen=True)
class Access:
    """Where a BMC is, and how to log in.

    :ivar url: scheme, host and port.
    :ivar system: the path of the System; '' for the only one.
    :ivar verify: whether its certificate is verified, or the path of the certificates that are trusted.
    """

    url: str
    system: str
    username: str
    password: str = dataclasses.field(repr=False)
    verify: bool | str
    auth_type: str


def access(driver_info: Mapping[str, Any]) -> Access:
    """Return the access that the driver_info of a node describes, with the names of Ironic.

    :raises Failure: something is missing or wrong.
    """
    values = {name: driver_info.get(f'redfish_{name}') for name in ('address', 'system_id', 'username', 'password')}
    if not values['address']:
        raise Failure('redfish_address is missing in driver_info.')
    for name, value in values.items():
        if not isinstance(value, str | None):
            raise Failure(f'redfish_{name} in driver_info must be a string.')
    path = values['system_id'] or ''
    if path and not f'{path}/'.startswith(f'{ROOT}/'):
        raise Failure(f'redfish_system_id in driver_info must be a path that begins with {ROOT}/.')
    kind = driver_info.get('redfish_auth_type') or 'auto'
    if kind not in _AUTH:
        raise Failure(f'redfish_auth_type in driver_info must be one of: {", ".join(_AUTH)}.')
    if kind != 'auto' and not values['username']:
        raise Failure('redfish_username is missing in driver_info.')
    try:
        url = addresses.url(values['address'])
    except BadAddress as error:
        raise Failure(str(error)) from None
    verify = _verify(driver_info.get('redfish_verify_ca', True))
    return Access(url, path.rstrip('/'), values['username'] or '', values['password'] or '', verify, kind)


def _verify(value: Any) -> bool | str:
    if isinstance(value, bool):
        return value
    if not isinstance(value, str) or not value:
        raise Failure('redfish_verify_ca in driver_info must be a boolean, or the path of certificates.')
    try:
        return strutils.bool_from_string(value, strict=True)
    except ValueError:
        return value


class _Root(sushy.Sushy):
    """The service root. Its Id is of no use, and some BMCs have none."""

    identity = base.Field('Id')

    def __del__(self) -> None:
        """Leave the session to ``connect``. sushy would log out here, even at the end of the process."""


#: {scheme of an image: how Redfish names it}. BMCs know the others from the URL, or sushy tells those that ask.
_PROTOCOLS = {'nfs': 'NFS', 'cifs': 'CIFS', 'smb': 'CIFS'}


class _VirtualMedia(VirtualMedia):
    """A virtual medium. Its Id and Name are of no use."""

    identity = base.Field('Id')
    name = base.Field('Name')


class Bmc:
    """A BMC, as a tree of documents, and a System of it that can be changed. ``connect`` returns it.

    :ivar system: the path of the System.
    """

    def __init__(self, root: sushy.Sushy, connector: Connector, access: Access) -> None:
        self._root, self._connector, self._access = root, connector, access
        self._hidden: list[str] = []
        self.system = access.system or self._only_system()

    def _only_system(self) -> str:
        members = objects(self.get(f'{ROOT}/Systems').get('Members'))
        paths = [path.rstrip('/') for each in members if (path := text(each, '@odata.id'))]
        if len(paths) == 1:
            return paths[0]
        if not paths:
            raise Failure('The BMC has no System.')
        raise Failure(f'The BMC has several Systems. Set redfish_system_id to one of: {", ".join(paths[:20])}.')

    def get(self, path: str) -> Mapping[str, Any]:
        """Return the document of a path.

        :raises Unreadable: there is none, or it is no JSON object.
        """
        try:
            with self._sentences():
                response = self._get(path)
            document = response.json()
        except Unknown as error:
            raise Unimplemented(str(error)) from None
        except Failure as error:
            raise Unreadable(str(error)) from None
        except (ValueError, RecursionError):
            raise Unreadable(f'The document {path[:200]!r} is no JSON.') from None
        if not isinstance(document, dict):
            raise Unreadable(f'The document {path[:200]!r} is no object.')
        return document

    def _get(self, path: str) -> requests.Response:
        try:
            response = self._connector.get(path)
            status = response.status_code
        except exceptions.HTTPError as error:
            if error.status_code == HTTPStatus.UNAUTHORIZED:
                raise
            status = error.status_code
        if status == HTTPStatus.FORBIDDEN:
            raise Unreadable(f'The user may not read {path[:200]!r} (403).')
        if status != HTTPStatus.OK:
            raise (Unknown if status == HTTPStatus.NOT_IMPLEMENTED else Unreadable)(
                f'The BMC answers {status} for {path[:200]!r}.'
            )
        return response

    def document(self) -> Mapping[str, Any]:
        """Return the document of the System, as it is now.

        :raises Failure: it cannot be read.
        """
        try:
            return self.get(self.system)
        except Unreadable as error:
            raise Failure(str(error)) from None

    def reset(self, *kinds: str) -> None:
        """Change the power state, by the first of some kinds of resets that the BMC knows.

        :raises Unknown: it knows none of them.
        :raises Failure: it refuses it.
        """
        with self._sentences():
            system = self._system()
            known = {each.value for each in system.get_allowed_reset_system_values()}
            if not (usable := [kind for kind in kinds if kind in known]):
                raise Unknown(f'The BMC does not know {" or ".join(kinds)}. It knows: {", ".join(sorted(known))}.')
            system.reset_system(sushy.ResetType(usable[0]))

    def boot_sources(self) -> list[str]:
        """Return the sources from which the System can boot next, as Redfish names them."""
        with self._sentences():
            return sorted(each.value for each in self._system().get_allowed_system_boot_source_values())

    def set_boot_source(self, source: str, enabled: str, mode: str = '') -> None:
        """Set the source from which the System boots.

        :param enabled: ``Once`` or ``Continuous``.
        :param mode: ``UEFI`` or ``Legacy``; '' for the mode that the System has.
        :raises Failure: the BMC refuses it.
        """
        with self._sentences():
            self._system().set_system_boot_options(
                target=sushy.BootSource(source),
                enabled=sushy.BootSourceOverrideEnabled(enabled),
                mode=sushy.BootSourceOverrideMode(mode) if mode else None,
            )

    def set_boot_mode(self, mode: str) -> None:
        """Set the boot mode of the System: ``UEFI`` or ``Legacy``. Raise as ``set_boot_source`` does."""
        with self._sentences():
            self._system().set_system_boot_options(mode=sushy.BootSourceOverrideMode(mode))

    def insert_medium(self, path: str, url: str) -> None:
        """Begin to insert an image into a virtual medium. Some BMCs take a while after that.

        :param path: of the document of the medium.
        :raises Failure: the BMC refuses it.
        """
        self.hide([url])
        with self._sentences():
            self._medium(path).insert_media(url, transfer_protocol=_PROTOCOLS.get(url.partition(':')[0]))

    def eject_medium(self, path: str, image: str) -> None:
        """Begin to eject the image of a virtual medium. Raise as ``insert_medium`` does.

        :param image: what the BMC shows of it.
        """
        self.hide([image])
        with self._sentences():
            self._medium(path).eject_media()

    def patch(self, path: str, changes: Mapping[str, Any]) -> None:
        """Change the document of a path. Raise as ``insert_medium`` does."""
        with self._sentences():
            # Some BMCs refuse a change without the ETag of the document.
            self._connector.patch(path, data=dict(changes), etag=self._get(path).headers.get('ETag'))

    def hide(self, urls: Iterable[str]) -> None:
        """Mask passwords and tokens of some URLs in all failures: a BMC may name its images in any answer."""
        self._hidden += [secret for url in urls for secret in _secrets(url)]

    def _medium(self, path: str) -> VirtualMedia:
        return _VirtualMedia(self._root._conn, path, redfish_version=self._root.redfish_version, root=self._root)

    def _system(self) -> System:
        return self._root.get_system(self.system)

    def _sentences(self) -> contextlib.AbstractContextManager[None]:
        return _sentences(self._connector, self._access, *self._hidden)


@contextlib.contextmanager
def connect(access: Access, timeout: float, total: float, local: bool = False) -> Iterator[Bmc]:
    """Log in to a BMC, and log out in the end.

    :param timeout: seconds for one request.
    :param total: seconds for all requests.
    :param local: whether addresses of this machine and its link are allowed.
    :raises Failure: it cannot be used.
    """
    connector = Connector(access.url, access.verify, Limits(timeout, total, local))
    login = _AUTH[access.auth_type](access.username, access.password) if access.username else _NoAuth()
    try:
        with _sentences(connector, access):
            root = _Root(access.url, auth=login, connector=connector)
            bmc = Bmc(root, connector, access)
        yield bmc
    finally:
        # Some BMCs allow only a few sessions. One that does not answer ends them by itself.
        with contextlib.suppress(Exception):
            connector.begin_logout()
            login.close()
        connector.close()


def _secrets(url: str) -> list[str]:
    """Return the parts of a URL that an answer of a BMC must not show: a password, or a token."""
    if masks.url(url) == url:
        return []
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return [url]
    user = parts.netloc.rpartition('@')[0]
    found = [url, json.dumps(url)[1:-1], user, parts.password or '', parts.query]
    return [*found, *map(urllib.parse.unquote, found)]


class _NoAuth(auth.BasicAuth):
    """No user. The service root needs none."""

    def _do_authenticate(self) -> None:
        pass


@contextlib.contextmanager
def _sentences(connector: Connector, access: Access, *more: str) -> Iterator[None]:
    """Turn all errors of requests into a Failure, without what the BMC may repeat: the password, tokens, and more."""
    try:
        yield
    except Failure:
        raise
    except (Stopped, BadAddress, Unreadable) as error:
        raise Failure(str(error)) from None
    except Exception as error:  # sushy raises many types of them for documents that it does not expect
        basic = base64.b64encode(f'{access.username}:{access.password}'.encode()).decode()
        quoted = json.dumps(access.password)[1:-1]
        secrets = [each for each in (*more, access.password, quoted, basic, connector.token) if each]
        is_final = isinstance(error, exceptions.AccessError) or _is_untrusted(error)
        raise (Refused if is_final else Failure)(_sentence(error, secrets)) from None


def _sentence(error: Exception, secrets: Sequence[str]) -> str:
    """Return what went wrong, with stars for secrets."""

    def masked(words: str) -> str:
        # Before they are cut: a part of a secret would not be found.
        for secret in secrets:
            words = words.replace(secret, '***')
        return printable(masks.tokens(words))

    if isinstance(error, exceptions.AccessError) and error.status_code == HTTPStatus.UNAUTHORIZED:
        return f'The BMC refuses the user name or the password ({error.status_code}).'
    if isinstance(error, exceptions.HTTPError) and getattr(error, 'status_code', None):
        messages = [each.get('Message') for each in objects(error.extended_info)]
        detail = next(filter(None, (*messages, error.detail)), '')
        return f'The BMC answers {error.status_code}. {masked(str(detail))}'.strip()
    cause = _cause(error)
    if _is_untrusted(error):
        return f'The certificate of the BMC cannot be verified (redfish_verify_ca): {masked(_innermost(cause))}.'
    if isinstance(cause, requests.RequestException | OSError):
        return f'The BMC cannot be reached: {masked(_innermost(cause))}.'
    # sushy fails like any program if a list is where Redfish has an object.
    structure = 'a document with another structure than that of Redfish'
    words = masked(str(error)) if isinstance(error, exceptions.SushyError) else structure
    return f'The BMC shows something that cannot be used: {words}'.rstrip('.') + '.'


def _cause(error: Exception) -> BaseException:
    return (error.__context__ if isinstance(error, exceptions.ConnectionError) else None) or error


def _is_untrusted(error: Exception) -> bool:
    return isinstance(_cause(error), requests.exceptions.SSLError)


def _innermost(error: BaseException) -> str:
    """Return the text of the error that caused an error. The others repeat addresses and objects."""
    while inside := [
        each
        for each in (error.__cause__, error.__context__, getattr(error, 'reason', None), *error.args)
        if isinstance(each, BaseException)
    ]:
        error = inside[0]
    return str(getattr(error, 'strerror', None) or error).rstrip('.')
