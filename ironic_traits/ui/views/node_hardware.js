// What the last inspection of a node has found, and what inspection rules expect of it.
import { get } from '../api.js';
import { useData } from '../data.js';
import { number, text } from '../format.js';
import { html } from '../html.js';
import { useState } from '../vendor/hooks.js';
import { Card, Problem, Time } from '../widgets.js';

/** What is shown for a fact that the data does not have: it is not guessed. */
const Unknown = () => html`<span class="muted">unknown</span>`;
/** Longer tables are behind a fold. */
const SHORT = 12;

export function Hardware({ node, turn }) {
  const path = `/v1/nodes/${node.uuid}/inventory`;
  // Only the route of the data says whether there are any: for a node without them, it is a 404.
  const [isShown, setShown] = useState(Boolean(node.inspection_finished_at));
  const { data, error, reload } = useData(isShown ? path : null, (signal) => get(path, { signal }), turn);
  const none = error?.status === 404 && error.body.code !== 'baremetal.node.not_found';
  return html`<${Card} title="Hardware">
    ${!isShown && html`<button type="button" onClick=${() => setShown(true)}>Show the data of inspections</button>`}
    ${none ? html`<p class="muted" role="status">There are no data. The verb “inspect” collects them.</p>` : html`<${Problem} error=${error} retry=${reload} />`}
    ${data && html`<${Expected} node=${node} turn=${turn} /><${Found} node=${node} data=${data} />`}
  <//>`;
}

/** What inspection rules expect, and the node does not have. */
function Expected({ node, turn }) {
  const path = `/v1/nodes/${node.uuid}/validate`;
  const { data } = useData(path, (signal) => get(path, { signal }), turn);
  const reason = data?.inspect?.reason;
  return reason ? html`<p class="note warn"><strong>Not as expected.</strong> ${reason}</p>` : null;
}

function Found({ node, data }) {
  const { inventory = {}, plugin_data: more = {} } = data;
  const bmc = object(more?.redfish);
  return html`
    <dl class="fields">
      ${fields(object(inventory), bmc).map(([label, value]) => html`<dt>${label}</dt><dd>${value || html`<${Unknown} />`}</dd>`)}
      ${node.inspection_finished_at && html`<dt>Inspected</dt><dd><${Time} at=${node.inspection_finished_at} ago /></dd>`}
    </dl>
    ${tables(object(inventory), object(more), bmc).map((table) => html`<${Table} key=${table.title} ...${table} />`)}
    <details><summary>All data</summary><pre tabindex="0">${JSON.stringify(data.inventory, null, 2)}</pre></details>`;
}

/** A table of parts: columns is {heading: function of a part}. A column that has no value in any row is left out. */
function Table({ title, parts, columns, summary }) {
  if (!parts.length) return null;
  const shown = Object.entries(columns).filter(([, value]) => parts.some((part) => value(part)));
  const table = html`<div class="scroll" tabindex="0" role="region" aria-label=${`Table of ${title}`}><table class="parts">
    <thead><tr>${shown.map(([heading]) => html`<th scope="col">${heading}</th>`)}</tr></thead>
    <tbody>${parts.map((part) => html`<tr>${shown.map(([heading, value]) => html`<td class=${NARROW.has(heading) ? 'mono' : undefined}>${value(part) || html`<${Unknown} />`}</td>`)}</tr>`)}</tbody>
  </table></div>`;
  return parts.length > SHORT
    ? html`<details><summary>${title} (${number(parts.length)})</summary>${table}</details>`
    : html`<h3>${title}${summary && html` <span class="muted">${summary}</span>`}</h3>${table}`;
}

/** Columns of characters that one compares one by one. */
const NARROW = new Set(['MAC address', 'Serial', 'Version', 'Device']);

/** Return the facts of the whole machine: [[label, text], …]. */
export function fields(inventory, bmc) {
  const { system_vendor: vendor, cpu, memory, boot } = Object.fromEntries(
    ['system_vendor', 'cpu', 'memory', 'boot'].map((name) => [name, object(inventory[name])]),
  );
  const cores = [counted(cpu.socket_count, 'socket'), counted(cpu.core_count, 'core'), counted(cpu.count, 'thread')];
  const optional = [
    ['BIOS', words(object(vendor.firmware).version, object(vendor.firmware).build_date)],
    ['Boot mode', text(boot.current_boot_mode)],
    ['BMC', text(inventory.bmc_address)],
    ['Hostname', text(inventory.hostname)],
    ['TPM', text(object(bmc.tpm).version)],
  ];
  return [
    ['Machine', words(vendor.manufacturer, vendor.product_name)],
    ['Serial', text(vendor.serial_number)],
    ['CPU', [words(cpu.model_name), cores.filter(Boolean).join(', '), text(cpu.architecture)].filter(Boolean).join(' · ')],
    ['Memory', size(memory.physical_mb, 1, 1024, 'GiB')],
    ...optional.filter(([, value]) => value),
  ];
}

/** Return the tables of parts, without those that have none. */
export function tables(inventory, more, bmc) {
  const modules = objects(bmc.memory).filter((module) => module.capacity_mib);
  const switches = object(more.parsed_lldp);
  const graphics = objects(more.pci_devices).filter((device) => /^(0x)?03/.test(text(device.class)));
  return [
    {
      title: 'Memory modules',
      parts: modules,
      columns: {
        Slot: (module) => text(module.name),
        Size: (module) => size(module.capacity_mib, 1, 1024, 'GiB'),
        Type: (module) => words(module.type, module.speed_mhz && `${text(module.speed_mhz)} MHz`),
        Part: (module) => words(module.manufacturer, module.part_number),
      },
    },
    {
      title: 'Disks',
      parts: objects(inventory.disks),
      columns: {
        Name: (disk) => text(disk.name),
        Size: (disk) => size(disk.size, 1e9, 1000, 'GB'),
        Kind: kindOf,
        Model: (disk) => words(disk.vendor, disk.model),
        Serial: (disk) => text(disk.serial),
      },
    },
    {
      title: 'Network interfaces',
      parts: objects(inventory.interfaces),
      columns: {
        Name: (nic) => text(nic.name),
        'MAC address': (nic) => text(nic.mac_address),
        Link: (nic) => words(LINKS.get(nic.has_carrier), nic.speed_mbps && size(nic.speed_mbps, 1, 1000, 'Gbit/s')),
        Switch: (nic) => switchOf(object(switches[text(nic.name)])),
      },
    },
    {
      title: 'Accelerators',
      parts: objects(bmc.accelerators).length ? objects(bmc.accelerators) : graphics,
      columns: {
        Model: (part) => words(part.vendor, part.model),
        Device: (part) => [part.vendor_id, part.product_id].map(text).filter(Boolean).join(':'),
        Type: (part) => text(part.type),
      },
    },
    {
      title: 'Firmware',
      parts: objects(bmc.firmware),
      columns: { Part: (part) => text(part.name), Version: (part) => text(part.version) },
    },
  ];
}

const LINKS = new Map([[true, 'up'], [false, 'down']]);

/** Return what a disk is, as far as the data says it. BMCs do not know it of all disks. */
function kindOf(disk) {
  if (disk.rotational === true) return 'HDD';
  if (disk.rotational !== false) return text(disk.protocol);
  return /^nvme/i.test(text(disk.protocol)) || /^\/dev\/nvme/.test(text(disk.name)) ? 'NVMe' : 'SSD';
}

function switchOf(lldp) {
  return words(lldp.switch_system_name ?? lldp.switch_chassis_id, lldp.switch_port_id && `port ${text(lldp.switch_port_id)}`);
}

/** Return a size in a larger unit, with at most one decimal; '' if it is unknown. */
export function size(amount, divisor, step, unit) {
  const value = Number(amount) / divisor;
  if (!(value > 0)) return '';
  const smaller = { GiB: 'MiB', 'Gbit/s': 'Mbit/s' }[unit];
  if (unit === 'GB') {
    if (value < 1) return `${number(Math.round(value * step))} MB`;
    return value >= step ? `${number(Math.round(value / 10) / 100)} TB` : `${number(Math.round(value))} GB`;
  }
  return value >= step ? `${number(Math.round((value / step) * 10) / 10)} ${unit}` : `${number(value)} ${smaller}`;
}

function counted(amount, noun) {
  return Number(amount) > 0 ? `${number(Number(amount))} ${noun}${Number(amount) === 1 ? '' : 's'}` : '';
}

function words(...values) {
  return values.map(text).filter(Boolean).join(' ');
}

/** Return an object; {} for anything else. The data of inspections is not trusted. */
function object(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : {};
}

function objects(value) {
  return Array.isArray(value) ? value.filter((each) => object(each) === each) : [];
}
