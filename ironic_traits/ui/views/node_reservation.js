// The reservation of a node.
import { get, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { html } from '../html.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Confirm, Problem, Time } from '../widgets.js';

export function Reservation({ node, turn, onChange }) {
  const uuid = node.reservation_uuid;
  const [asking, setAsking] = useState(null);
  const held = useData(uuid ? `/v1/reservations/${uuid}` : null, (signal) => get(`/v1/reservations/${uuid}`, { signal }), turn);
  const [run, state] = useAction(async (method, path, body) => {
    await request(method, path, body);
    await onChange();
  }, onChange);
  const reserve = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    run('POST', '/v1/reservations', {
      node_uuid: [node.uuid],
      instance_uuid: String(form.get('instance')).trim() || randomUuid(),
      expires_in: Number(form.get('minutes')) * 60,
    });
  };
  // That of another user may be on its way.
  const reservation = held.isStale ? null : held.data?.reservation;
  return html`<${Card} title="Reservation">
    <${Problem} error=${held.error} retry=${held.reload} />
    <${Problem} error=${state.error} />
    ${uuid && !reservation && held.loading && html`<${Busy} />`}
    ${reservation &&
    html`<dl class="fields">
        <dt>Instance</dt><dd class="mono">${reservation.instance_uuid}</dd>
        <dt>Since</dt><dd><${Time} at=${reservation.created_at} ago /></dd>
        <dt>Until</dt><dd>${reservation.expires_at ? html`<${Time} at=${reservation.expires_at} />` : 'it is released'}</dd>
      </dl>
      <div class="buttons"><button type="button" disabled=${state.running} onClick=${() => setAsking(reservation)}>Release</button></div>`}
    ${!uuid && node.provision_state !== 'available' && html`<p class="muted">Nobody has reserved the node.</p>`}
    ${!uuid && node.provision_state === 'available' &&
    html`<details><summary>Reserve it</summary>
      <form class="row" onSubmit=${reserve}>
        <label>Instance (uuid) <input name="instance" class="mono" size="36" placeholder="a new one" /></label>
        <label>For minutes <input name="minutes" type="number" min="1" value="60" required /></label>
        <button type="submit" disabled=${state.running}>Reserve</button>
      </form></details>`}
    ${asking &&
    html`<${Confirm} title="Release the node?" action="Release" danger onClose=${() => setAsking(null)}
      onConfirm=${() => run('DELETE', `/v1/reservations/${asking.uuid}`)}>
      <p>It is reserved for the instance <span class="mono">${asking.instance_uuid}</span>. Other users can reserve the node after the release.</p>
    <//>`}
  <//>`;
}

/** Return a random uuid. Pages that are neither HTTPS nor local have no randomUUID. */
export function randomUuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
