// The reservation of nodes that match a request.
import { get, request } from '../api.js';
import { useAction } from '../data.js';
import { html } from '../html.js';
import { plural } from '../format.js';
import { useRef } from '../vendor/hooks.js';
import { Card, NodeLink, Problem } from '../widgets.js';
import { groupWords } from './clauses.js';
import { randomUuid } from './node_reservation.js';
import { Policies } from './why_topology.js';

/** The form; canReserve: whether enough nodes match. onDone is called after a reservation, which changes what matches. */
export function Reserve({ body, canReserve, onDone }) {
  const { count = 1, ...requirements } = body;
  // Without a response, the nodes may be held: another try with the same instances gets the same nodes.
  const generated = useRef(null);
  const [run, state] = useAction(async (entered, minutes) => {
    if (entered.length && entered.length !== count) throw new Error(`Enter ${plural(count, 'uuid')}, or none.`);
    if (!entered.length) generated.current ??= Array.from({ length: count }, randomUuid);
    const more = { instance_uuids: entered.length ? entered : generated.current, expires_in: minutes * 60 };
    const { reservations, topology } = await request('POST', '/v1/reservations', { required: [], ...requirements, ...more });
    generated.current = null;
    onDone();
    return { topology, held: await Promise.all(reservations.map(async (each) => ({ ...each, node: await nameOf(each.node_uuid) }))) };
  });
  const submit = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    run(String(form.get('instances')).split(/[\s,]+/).filter(Boolean), Number(form.get('minutes')));
  };
  return html`<${Card} title=${`Reserve ${count === 1 ? 'one' : count} of them`}>
    <form class="row" onSubmit=${submit}>
      <label>${count === 1 ? 'Instance (uuid)' : 'Instances (uuids)'} <input name="instances" class="mono" size="36" placeholder=${count === 1 ? 'a new one' : 'new ones'} /></label>
      <label>For minutes <input name="minutes" type="number" min="1" value="60" required /></label>
      <button type="submit" class="primary" disabled=${state.running || !canReserve}>Reserve</button>
    </form>
    <${Problem} error=${state.error} />
    ${state.result &&
    html`<div class="note good" role="status"><${Policies} topology=${state.result.topology} />
      ${state.result.held.map(
        ({ uuid, node, instance_uuid, groups }) => html`<p key=${uuid}><${NodeLink} ...${node} />${groups && ` in ${groupWords(groups)}`} is held for the instance <span class="mono">${instance_uuid}</span>.
          <br />To deploy: <code>baremetal node deploy ${node.uuid} --reservation ${uuid}</code></p>`,
      )}</div>`}
  <//>`;
}

/** Return {uuid, name} of a node; no name if it cannot be read: the node is held all the same. */
function nameOf(uuid) {
  return get(`/v1/nodes/${uuid}?fields=uuid,name`).catch(() => ({ uuid }));
}
