// Exclusive traits: which there are, and what changes for flavors if another one becomes exclusive.
import { get, query, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { number, plural } from '../format.js';
import { html } from '../html.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Problem, Trait } from '../widgets.js';

/** The exclusive traits. The flavors may be null; onChange is called after a change. */
export function Exclusive({ flavors, onChange }) {
  const path = '/v1/traits?exclusive=true';
  const { data, error, loading, reload } = useData(path, (signal) => get(path, { signal }));
  const done = () => {
    reload();
    onChange();
  };
  return html`<${Card} title="Exclusive traits">
    <p class="muted">A node with one only matches requests that require it.</p>
    <${Problem} error=${error} retry=${reload} />
    ${!data && loading && html`<${Busy} />`}
    <ul>${data?.traits.map((each) => html`<li key=${each.name}><${Trait} name=${each.name} /> ${plural(each.nodes, 'node')} <${Switch} key=${JSON.stringify(flavors)} name=${each.name} exclusive=${false} flavors=${flavors} onDone=${done} /></li>`)}</ul>
    <${Another} flavors=${flavors} onDone=${done} />
  <//>`;
}

function Another({ flavors, onDone }) {
  const [name, setName] = useState('');
  const done = () => {
    setName('');
    onDone();
  };
  return html`<label>Another trait <input class="mono" value=${name} onInput=${(event) => setName(event.target.value.trim())} /></label>
    ${name && html`<${Switch} key=${name + JSON.stringify(flavors)} name=${name} exclusive=${true} flavors=${flavors} onDone=${done} />`}`;
}

/** A button that shows what changes for the flavors (if there are any), and one that makes the change. */
function Switch({ name, exclusive, flavors, onDone }) {
  const path = `/v1/traits/${encodeURIComponent(name)}`;
  const [preview, shown] = useAction(() => request('PATCH', `${path}${query({ preview: true })}`, { exclusive, flavors }));
  const [change, state] = useAction(async () => {
    await request('PATCH', path, { exclusive });
    onDone();
  });
  const ask = Boolean(flavors?.length) && !shown.result;
  return html`${ask && html`<button type="button" disabled=${shown.running} onClick=${preview} aria-label=${`Preview ${name}`}>Preview</button>`}
    ${shown.result && html`<div class="note" role="status">${shown.result.flavors.length
      ? shown.result.flavors.map((each) => html`<p><strong>${each.name}</strong> matches ${plural(each.now, 'node')} now, and ${number(each.then)} then.</p>`)
      : 'All flavors match the same nodes as now.'}</div>`}
    ${!ask && html`<button type="button" disabled=${state.running} onClick=${change} aria-label=${`${exclusive ? 'Make' : 'End'} ${name} exclusive`}>${exclusive ? 'Make exclusive' : 'End'}</button>`}
    <${Problem} error=${shown.error ?? state.error} />`;
}
