// The reservation of one of the nodes that match a request.
import { get, request } from '../api.js';
import { useAction } from '../data.js';
import { html } from '../html.js';
import { useRef } from '../vendor/hooks.js';
import { Card, NodeLink, Problem } from '../widgets.js';
import { randomUuid } from './node_reservation.js';

/** The form; canReserve: whether a node matches. onDone is called after a reservation, which changes what matches. */
export function Reserve({ body, canReserve, onDone }) {
  // Without a response, the node may be held: another try with the same instance gets the same node.
  const generated = useRef(null);
  const [run, state] = useAction(async (instance, minutes) => {
    if (!instance) generated.current ??= randomUuid();
    const more = { instance_uuid: instance || generated.current, expires_in: minutes * 60 };
    const { reservation } = await request('POST', '/v1/reservations', { ...body, ...more });
    generated.current = null;
    onDone();
    return { reservation, node: await nameOf(reservation.node_uuid) };
  });
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    run(form.get('instance').trim(), Number(form.get('minutes')));
  };
  return html`<${Card} title="Reserve one of them">
    <form class="row" onSubmit=${submit}>
      <label>Instance (uuid) <input name="instance" class="mono" size="36" placeholder="a new one" /></label>
      <label>For minutes <input name="minutes" type="number" min="1" value="60" required /></label>
      <button type="submit" class="primary" disabled=${state.running || !canReserve}>Reserve</button>
    </form>
    <${Problem} error=${state.error} />
    ${state.result &&
    html`<p class="note good" role="status"><${NodeLink} ...${state.result.node} /> is held for the instance <span class="mono">${state.result.reservation.instance_uuid}</span>.
      <br />To deploy: <code>baremetal node deploy ${state.result.node.uuid} --reservation ${state.result.reservation.uuid}</code></p>`}
  <//>`;
}

/** Return {uuid, name} of a node; no name if it cannot be read: the node is held all the same. */
function nameOf(uuid) {
  return get(`/v1/nodes/${uuid}?fields=uuid,name`).catch(() => ({ uuid }));
}
