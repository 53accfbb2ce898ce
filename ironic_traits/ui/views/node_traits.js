// The traits of a node: their sources and vetoes, an edit with a preview, and the traits at an earlier time.
import { get, query, request } from '../api.js';
import { useAction, useData } from '../data.js';
import { local, plural, relative } from '../format.js';
import { namesIn } from '../forms.js';
import { html } from '../html.js';
import { link } from '../router.js';
import { TraitInput } from '../trait_input.js';
import { useState } from '../vendor/hooks.js';
import { Busy, Card, Problem, Time, Trait } from '../widgets.js';

export function TraitsOf({ node, ident, at, turn, onChange }) {
  const [editing, setEditing] = useState(false);
  const path = `/v1/nodes/${node.uuid}/traits`;
  const now = useData(path, (signal) => get(`${path}?detail=true`, { signal }), turn);
  const done = async () => {
    await Promise.all([now.reload(), onChange()]);
    setEditing(false);
  };
  const edit = html`<button type="button" onClick=${() => setEditing(true)}>Edit</button>`;
  // It stays while other traits are shown: it may have a draft.
  return html`${at && html`<${Past} key=${at} node=${node} ident=${ident} at=${at} now=${now.data?.traits.map((each) => each.trait)} />`}
    <div hidden=${Boolean(at)}>
      <${Card} title="Traits" actions=${now.data && !editing && edit}>
        <${Problem} error=${now.error} retry=${now.reload} at=${now.at} />
        ${!now.data && now.loading && html`<${Busy} />`}
        ${now.data && editing && html`<${Edit} node=${node} names=${now.data.traits.map((each) => each.trait)} onRefusal=${now.reload} onDone=${done} onCancel=${() => setEditing(false)} />`}
        ${now.data && !editing && html`<${Sources} ...${now.data} />`}
      <//>
    </div>`;
}

function Sources({ traits, vetoes }) {
  if (!traits.length && !vetoes.length) return html`<p class="muted">The node has no traits. “Edit” adds some.</p>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Traits and their sources"><table>
    <thead><tr><th scope="col">Trait</th><th scope="col">Held by</th><th scope="col">Since</th></tr></thead>
    <tbody>
      ${traits.map(
        ({ trait, sources, vetoed }) => html`<tr key=${trait}>
          <td class="trait-name"><${Trait} name=${trait} /> ${vetoed && html`<span class="state moving">vetoed for others</span>`}</td>
          <td>${sources.map((each) => html`<div>${each.source}${each.user && html`<span class="muted"> · ${each.user}</span>`}</div>`)}</td>
          <td>${sources.map((each) => html`<div><${Time} at=${each.since} ago /></div>`)}</td>
        </tr>`,
      )}
      ${vetoes.map(
        ({ trait, since, user }) => html`<tr key=${`veto ${trait}`}>
          <td class="trait-name"><${Trait} name=${trait} kind="gone" /></td>
          <td class="trait-name">vetoed: automatic sources cannot add it${user && html`<span class="muted"> · ${user}</span>`}</td>
          <td><${Time} at=${since} ago /></td>
        </tr>`,
      )}
    </tbody>
  </table></div>`;
}

function Edit({ node, names, onRefusal, onDone, onCancel }) {
  const [removals, setRemoved] = useState([]);
  const [additions, setAdded] = useState([]);
  const [isApplied, setApplied] = useState(false);
  // After a refusal, the node may have other traits.
  const removed = removals.filter((each) => names.includes(each));
  const added = additions.filter((each) => !names.includes(each));
  const [send, state, reset] = useAction(async (guard) => {
    const body = { nodes: [node.uuid], ...(added.length && { add: added }), ...(removed.length && { remove: removed }) };
    setApplied(Boolean(guard.digest));
    try {
      const result = await request('POST', '/v1/traits/edits', { ...body, ...guard });
      if (guard.digest) await onDone();
      return result;
    } catch (error) {
      setApplied(false);
      throw error;
    }
  }, onRefusal);
  const change = (update) => {
    reset();
    update();
  };
  const add = (event) => {
    event.preventDefault();
    const words = namesIn(String(new FormData(event.target).get('trait')));
    change(() => {
      setRemoved(removed.filter((each) => !words.includes(each)));
      setAdded([...new Set([...added, ...words.filter((each) => !names.includes(each))])]);
    });
    event.target.reset();
  };
  const toggle = (name) =>
    change(() => setRemoved(removed.includes(name) ? removed.filter((each) => each !== name) : [...removed, name]));
  const changes = added.length + removed.length;
  // Nothing that the user would enter now could be kept.
  if (isApplied) return html`<${Busy}>Changing the traits …<//>`;
  return html`
    <p class="muted">Click a trait to remove it. Nothing changes before you have seen the preview.</p>
    <div class="traits edit">
      ${names.map(
        (name) => html`<button type="button" key=${name} class="trait ${removed.includes(name) ? 'gone' : ''}"
          aria-pressed=${removed.includes(name)} aria-label=${`Remove ${name}`} onClick=${() => toggle(name)}>${name} ×</button>`,
      )}
      ${added.map(
        (name) => html`<button type="button" key=${`new ${name}`} class="trait new" aria-label=${`Do not add ${name}`}
          onClick=${() => change(() => setAdded(added.filter((each) => each !== name)))}>${name} ×</button>`,
      )}
    </div>
    <form class="row" onSubmit=${add}>
      <${TraitInput} label="Add a trait" name="trait" size="28" placeholder="CUSTOM_…" />
      <button type="submit">Add</button>
    </form>
    <${Problem} error=${state.error} />
    ${state.result?.digest && html`<${Preview} result=${state.result} />`}
    <div class="buttons">
      <button type="button" onClick=${onCancel}>Cancel</button>
      ${state.result?.digest
        ? html`<button type="button" class="primary" onClick=${() => send({ digest: state.result.digest })}>Apply</button>`
        : html`<button type="button" class="primary" disabled=${!changes || state.running} onClick=${() => send({ preview: true })}>Preview</button>`}
    </div>`;
}

function Preview({ result }) {
  const [node] = result.nodes;
  if (!node) return html`<p class="note" role="status">The edit would change nothing.</p>`;
  return html`<div class="note" role="status">
    <p><strong>The edit would change the node as follows:</strong></p>
    <div class="traits">
      ${node.gains.map((name) => html`<span><span class="visually-hidden">gains </span>+ <${Trait} name=${name} kind="new" /></span>`)}
      ${node.loses.map((name) => html`<span><span class="visually-hidden">loses </span>− <${Trait} name=${name} kind="gone" /></span>`)}
    </div>
    ${node.vetoed.length > 0 && html`<p>Vetoed, so not added: ${node.vetoed.join(', ')}</p>`}
    ${result.retired.length > 0 && html`<p>Retired: ${result.retired.join(', ')}. Other names may be meant.</p>`}
    ${result.exceeding > 0 && html`<p>The node would have too many traits.</p>`}
    ${result.locked > 0 && html`<p>A worker works on the node: wait until it has finished.</p>`}
  </div>`;
}

function Past({ node, ident, at, now }) {
  const moment = at.replaceAll(' ', '+');
  const isTime = !Number.isNaN(Date.parse(moment));
  const path = `/v1/nodes/${node.uuid}/traits${query({ at: moment }).replaceAll('+', '%2B')}`;
  const { data, error, loading, reload } = useData(isTime ? path : null, (signal) => get(path, { signal }));
  const names = data?.traits ?? [];
  const gone = now ? names.filter((name) => !now.includes(name)) : [];
  const later = (data && now ? now : []).filter((name) => !names.includes(name));
  const back = html`<a class="button" href=${link(['nodes', ident])}>Back to now</a>`;
  if (!isTime) {
    const wrong = new Error(`“${at}” in the link is not a time. Choose a time in the timeline.`);
    return html`<${Card} title="Traits at another time" actions=${back}><${Problem} error=${wrong} /><//>`;
  }
  return html`<${Card} title=${`Traits at ${local(moment)}`} actions=${back}>
    <${Problem} error=${error} retry=${reload} />
    ${!data && loading && html`<${Busy} />`}
    ${data && html`<p class="muted" role="status">${plural(names.length, 'trait')}, ${relative(moment)}.
      ${!gone.length && !later.length ? ' The same as now.' : ' Struck out: removed since. With +: added since.'}</p>`}
    <div class="traits">
      ${names.map((name) => html`<${Trait} key=${name} name=${name} kind=${gone.includes(name) ? 'gone' : ''} />`)}
      ${later.map((name) => html`<span key=${name}>+ <${Trait} name=${name} kind="new" /></span>`)}
    </div>
  <//>`;
}
