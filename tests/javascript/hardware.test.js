import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { fields, size, tables } = await import('../../ironic_traits/ui/views/node_hardware.js');
const { kindOf } = await import('../../ironic_traits/ui/widgets.js');

/** Return {heading: texts} of a table. */
function columnsOf(title, inventory, more = {}, bmc = {}) {
  const { parts, columns } = tables(inventory, more, bmc).find((each) => each.title === title);
  return Object.fromEntries(Object.entries(columns).map(([heading, value]) => [heading, parts.map(value)]));
}

test('sizes in a larger unit, with at most one decimal', () => {
  const memory = [512, 1023, 1024, 1536, 196608, '2048', 1234567].map((amount) => size(amount, 1, 1024, 'GiB'));
  assert.deepEqual(memory, ['512 MiB', '1,023 MiB', '1 GiB', '1.5 GiB', '192 GiB', '2 GiB', '1,205.6 GiB']);
  const disks = [480103981056, 999e9, 1e12, 1920383410176].map((amount) => size(amount, 1e9, 1000, 'GB'));
  assert.deepEqual(disks, ['480 GB', '999 GB', '1 TB', '1.92 TB']);
  assert.deepEqual([100, 1000, 2500, 25000].map((amount) => size(amount, 1, 1000, 'Gbit/s')), ['100 Mbit/s', '1 Gbit/s', '2.5 Gbit/s', '25 Gbit/s']);
});

test('a disk that is smaller than a GB has a size', () => {
  assert.deepEqual([64e6, 999.4e6, 1e9].map((amount) => size(amount, 1e9, 1000, 'GB')), ['64 MB', '999 MB', '1 GB']);
});

test('an unknown size is empty', () => {
  for (const amount of [null, undefined, '', 0, -1, 'many', {}, NaN]) assert.equal(size(amount, 1, 1024, 'GiB'), '', String(amount));
});

test('facts that the data do not have are empty', () => {
  assert.deepEqual(fields({}, {}), [['Machine', ''], ['Serial', ''], ['CPU', ''], ['Memory', '']]);
  const wrong = { system_vendor: 'x', cpu: [], memory: { physical_mb: null }, boot: 1 };
  assert.deepEqual(fields(wrong, { tpm: 'no' }), fields({}, {}));
});

test('the facts of a machine', () => {
  const inventory = {
    system_vendor: { manufacturer: 'HPE', product_name: 'DL360', serial_number: 'S', firmware: { version: '1.2' } },
    cpu: { model_name: 'Xeon', count: 64, core_count: 32, socket_count: 1, architecture: 'x86_64' },
    memory: { physical_mb: 196608 },
  };
  assert.deepEqual(fields(inventory, { tpm: { version: '2.0' } }), [
    ['Machine', 'HPE DL360'],
    ['Serial', 'S'],
    ['CPU', 'Xeon · 1 socket, 32 cores, 64 threads · x86_64'],
    ['Memory', '192 GiB'],
    ['BIOS', '1.2'],
    ['TPM', '2.0'],
  ]);
});

test('the kind of a disk is not guessed', () => {
  const disks = [{ rotational: true }, { rotational: false }, { rotational: false, name: '/dev/nvme0n1' }, { rotational: false, protocol: 'NVMe' },
    { protocol: 'SAS' }, {}, { rotational: null }];
  assert.deepEqual(columnsOf('Disks', { disks }).Kind, ['HDD', 'SSD', 'NVMe', 'NVMe', 'SAS', '', '']);
});

test('the link and the switch of a network interface', () => {
  const interfaces = [{ name: 'eth0', has_carrier: true, speed_mbps: 25000 }, { name: 'eth1', has_carrier: false }, { name: 'eth2', has_carrier: null }, 'eth3'];
  const more = { parsed_lldp: { eth0: { switch_system_name: 'sw1', switch_port_id: '7' }, eth1: null } };
  const { Link, Switch } = columnsOf('Network interfaces', { interfaces }, more);
  assert.deepEqual(Link, ['up 25 Gbit/s', 'down', '']);
  assert.deepEqual(Switch, ['sw1 port 7', '', '']);
});

test('without accelerators of a BMC, the graphics devices of the ramdisk are shown', () => {
  const more = { pci_devices: [{ class: '0x030200', vendor_id: '10de', product_id: '20f1' }, { class: '0x020000' }, { class: null }] };
  assert.deepEqual(columnsOf('Accelerators', {}, more).Device, ['10de:20f1']);
  assert.deepEqual(columnsOf('Accelerators', {}, more, { accelerators: [{ model: 'A100' }] }).Model, ['A100']);
});

test('the colour of a provision state', () => {
  const kinds = { 'deploy failed': 'bad', error: 'bad', available: 'good', active: 'used', enroll: 'plain', deploying: 'moving', 'clean wait': 'moving' };
  assert.deepEqual(Object.fromEntries(Object.keys(kinds).map((state) => [state, kindOf(state)])), kinds);
  assert.deepEqual([kindOf(null), kindOf(undefined)], ['plain', 'plain']);
});
