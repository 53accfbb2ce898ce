// What mirrors of clouds wait for.
import { get, isOperator, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { plural } from '../format.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { useState } from '../vendor/hooks.js';
import { Command, Confirm, Problem } from '../widgets.js';

const MIRRORS = '/v1/mirrors';

/** The mirrors that an operator has to decide about. Only users of the system may see mirrors. */
export function WaitingMirrors({ onChange }) {
  const { data, reload } = useData(isOperator() ? MIRRORS : null, (signal) => get(MIRRORS, { signal }));
  const waiting = (data?.mirrors ?? []).filter((mirror) => mirror.waits_for.length);
  return waiting.map(
    (mirror) => html`
      ${mirror.waits_for.includes('deletions') && html`<${Missing} key=${mirror.name} mirror=${mirror} onChange=${() => { reload(); onChange(); }} />`}
      ${mirror.waits_for.includes('writes') &&
      html`<div class="note warn">Traits wait to be written to cloud ${mirror.name}. See which, then confirm it:
        <${Command} label="preview">${`ironic-traits-mirror --cloud ${mirror.name} preview`}<//>
        <${Command} label="confirm">${`ironic-traits-mirror --cloud ${mirror.name} confirm writes`}<//></div>`}`,
  );
}

function Missing({ mirror, onChange }) {
  const { name, missing_nodes: count } = mirror;
  const [asking, setAsking] = useState(false);
  const [run, state] = useAction(async () => {
    await request('DELETE', `${MIRRORS}/${encodeURIComponent(name)}/missing_nodes?count=${count}`);
    onChange();
  }, onChange);
  return html`<div class="note warn" role="status">
    <p>Cloud ${name} no longer shows <strong>${plural(count, 'node')}</strong>. They stay here until you decide. Has the
      user of the mirror lost a role? <a href=${link(['nodes'], { origin: name })}>Nodes of ${name}</a></p>
    <${Problem} error=${state.error} />
    <button type="button" onClick=${() => setAsking(true)}>Delete them here …</button>
    ${asking &&
    html`<${Confirm} title=${`Delete ${plural(count, 'node')}?`} action="Delete" danger onClose=${() => setAsking(false)} onConfirm=${run}>
      <p>The mirror deletes those that are still missing then. A node that returns gets back its traits and vetoes.</p>
    <//>`}
  </div>`;
}
