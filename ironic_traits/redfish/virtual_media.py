"""Virtual media: images that a BMC fetches, and shows to its machine as drives."""

import dataclasses
import re
import urllib.parse
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ironic_traits.redfish.bmcs import Bmc, Failure, Unknown
from ironic_traits.redfish.boot_settings import MODES, overrides, set_mode
from ironic_traits.redfish.machines import own, systems
from ironic_traits.redfish.trees import ROOT, Reader, inner, objects, printable, text

#: {device of Ironic: its media in Redfish}. Some BMCs have DVD drives only.
KINDS = {'cdrom': ('CD', 'DVD'), 'disk': ('USBStick',), 'floppy': ('Floppy',)}
#: Maximum number of characters of an image.
MAX_URL = 4096


@dataclasses.dataclass(frozen=True)
class Medium:
    """A virtual medium.

    :ivar path: of its document.
    :ivar kinds: what it can be: ``CD``, ``DVD``, ``USBStick``, ``Floppy``.
    :ivar image: the URL of its image, or what the BMC shows of it; None without one.
    """

    path: str
    kinds: tuple[str, ...]
    inserted: bool
    image: str | None

    def is_a(self, device: str) -> bool:
        """Whether it can be a device, a key of ``KINDS``."""
        return not set(KINDS[device]).isdisjoint(self.kinds)

    def shows(self, url: str) -> bool:
        """Whether its image may be that of a URL. BMCs leave out passwords, ends of long URLs, or all but a name."""
        image = self.image or ''
        return '://' not in image or _place(url).startswith(_place(image))


def _place(url: str) -> str:
    """Return the host and the path of a URL."""
    try:
        parts = urllib.parse.urlsplit(url)
        return f'{parts.hostname}{urllib.parse.unquote(parts.path)}'
    except ValueError:
        return url


@dataclasses.dataclass(frozen=True)
class Quirk:
    """What is different in the BMCs of a maker.

    :ivar maker: what the ``Manufacturer`` of the System begins with, in lower case.
    :ivar holder: the quirk is only for BMCs that have their media there: ``Systems`` or ``Managers``.
    :ivar media: pattern of the Ids of the media that can have an image of a URL.
    :ivar sources: the boot sources of a virtual CD, the best first.
    :ivar attributes: what is written to the attributes of the Manager instead of a boot source.
    """

    maker: str = ''
    holder: str = ''
    media: str = ''
    sources: tuple[str, ...] = ('Cd', 'UsbCd')
    attributes: Mapping[str, str] = dataclasses.field(default_factory=dict)


#: The first that fits counts.
_QUIRKS = (
    # Of XClarity, RDOC1 has what was uploaded to it, and Remote1 what a browser shows.
    Quirk('lenovo', media='EXT'),
    # X11 and X12 list both sources, and boot from the second only.
    Quirk('supermicro', sources=('UsbCd', 'Cd')),
    # iDRAC before 6.00 ignores the boot source for virtual media.
    Quirk(
        'dell',
        holder='Managers',
        attributes={'ServerBoot.1.BootOnce': 'Enabled', 'ServerBoot.1.FirstBootDevice': 'VCD-DVD'},
    ),
    Quirk(),
)


@dataclasses.dataclass(frozen=True)
class _Media:
    """The media of a machine, and what is different with them.

    :ivar holder: the path of the System or the Manager that has them.
    """

    media: list[Medium]
    quirk: Quirk
    holder: str

    def of(self, device: str) -> list[Medium]:
        """Return those that can be a device.

        :raises Unknown: there are none.
        """
        found = [each for each in self.media if each.is_a(device)]
        if not found:
            raise Unknown(f'The BMC has no virtual {device}.')
        return found


def listed(bmc: Bmc) -> list[Medium]:
    """Return the media that can have an image of a URL.

    :raises Failure: they cannot be read.
    """
    return _read(bmc).media


def insert(bmc: Bmc, device: str, url: str) -> None:
    """Begin to insert an image into a free medium. ``listed`` shows it, some BMCs after a while.

    :param device: a key of ``KINDS``.
    :raises Failure: there is no free medium, or the BMC refuses the image.
    """
    free = [each for each in _read(bmc).of(device) if not each.inserted]
    if not free:
        raise Failure(f'Each virtual {device} is in use.')
    # One that can be a disk, too, is left for the config drive.
    chosen = min(free, key=lambda medium: (device != 'disk' and medium.is_a('disk'), len(medium.kinds)))
    bmc.insert_medium(chosen.path, url)


def check(bmc: Bmc, devices: Collection[str]) -> None:
    """Raise Unknown unless a BMC has a medium for each of some devices at the same time.

    :param devices: keys of ``KINDS``.
    :raises Failure: the media cannot be read.
    """
    found = _read(bmc)
    paths = {medium.path for device in devices for medium in found.of(device)}
    if len(paths) < len(devices):
        raise Unknown(f'The BMC has only one virtual medium for {" and ".join(devices)}.')


def inserted(bmc: Bmc, devices: Collection[str]) -> list[Medium]:
    """Return the media that have an image, of those that can be one of some devices. Raise as ``listed`` does.

    :param devices: keys of ``KINDS``.
    """
    return [medium for medium in listed(bmc) if medium.inserted and any(map(medium.is_a, devices))]


def eject(bmc: Bmc, devices: Collection[str], but: Collection[str] = ()) -> None:
    """Begin to eject the images of all media of some devices. ``inserted`` shows whether the BMC does it.

    :param devices: keys of ``KINDS``.
    :param but: URLs of images that stay.
    :raises Failure: the BMC refuses it.
    """
    for medium in inserted(bmc, devices):
        if not any(map(medium.shows, but)):
            bmc.eject_medium(medium.path, medium.image or '')


def boot_once(bmc: Bmc, boot_mode: str) -> None:
    """Let the machine boot from the virtual CD the next time.

    :param boot_mode: a key of ``MODES``; '' for that of the machine.
    :raises Failure: the BMC cannot do it, refuses it, or forgets it.
    """
    found = _read(bmc)
    if found.quirk.attributes:
        if boot_mode:
            set_mode(bmc, boot_mode)
        bmc.patch(f'{found.holder}/Attributes', {'Attributes': dict(found.quirk.attributes)})
        return
    known = bmc.boot_sources()
    usable = [source for source in found.quirk.sources if source in known]
    if not usable:
        raise Unknown('The BMC cannot boot from a virtual CD.')
    # A BMC that shows no mode refuses to change it.
    shows_mode = any(text(boot, 'BootSourceOverrideMode') for boot in overrides(bmc))
    bmc.set_boot_source(usable[0], 'Once', MODES.get(boot_mode, '') if shows_mode else '')
    for boot in overrides(bmc):
        # Some show Continuous, whatever they were asked for.
        if boot.get('BootSourceOverrideTarget') == usable[0] and boot.get('BootSourceOverrideEnabled') != 'Disabled':
            return
    raise Failure('The BMC does not keep the boot source.')


def _read(bmc: Bmc) -> _Media:
    """Return the media of the System; of its Managers if it has none, as older BMCs do.

    :raises Failure: one of them cannot be read. It may have an image.
    """
    reader, system = Reader(bmc), bmc.document()
    maker = text(system, 'Manufacturer').lower()
    for path, document in _holders(reader, bmc.system, system):
        reader.begin_part()
        members = list(reader.members(document, 'VirtualMedia'))
        if reader.problems:
            raise Failure(reader.problems[0])
        for quirk in _QUIRKS:
            if maker.startswith(quirk.maker) and f'/{quirk.holder}' in path:
                break
        media = [_medium(each, found) for each, found in members if re.match(quirk.media, text(found, 'Id'))]
        if media:
            return _Media(media, quirk, path)
    return _Media([], Quirk(), bmc.system)


def _holders(reader: Reader, path: str, system: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield path, system
    reader.begin_part()
    managers = list(reader.members(inner(system, 'Links'), 'ManagedBy'))
    if not managers and len(systems(reader)) == 1:
        managers = list(reader.members(reader.get(ROOT), 'Managers'))
    if reader.problems:
        raise Failure(reader.problems[0])
    for each, document in managers:
        servers = _paths(document, 'ManagerForServers')
        servers |= {other for other, host in systems(reader).items() if each.rstrip('/') in _paths(host, 'ManagedBy')}
        if len(servers.intersection(own(reader))) > 1:
            raise Unknown('The virtual media of the BMC belong to several machines.')
        yield each, document


def _paths(document: Mapping[str, Any], name: str) -> set[str]:
    """Return the paths to which one of the ``Links`` of a document leads."""
    return {text(each, '@odata.id').rstrip('/') for each in objects(inner(document, 'Links').get(name))}


def _medium(path: str, document: Mapping[str, Any]) -> Medium:
    kinds, inserted = document.get('MediaTypes'), document.get('Inserted')
    images: Iterator[Any] = (document[name] for name in ('Image', 'ImageName') if text(document, name))
    image = printable(next(images, ''), MAX_URL)
    return Medium(
        path,
        tuple(printable(each) for each in kinds if isinstance(each, str)) if isinstance(kinds, list) else (),
        inserted if isinstance(inserted, bool) else bool(image),
        image or None,
    )
