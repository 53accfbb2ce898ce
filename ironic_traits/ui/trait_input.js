// A field for the names of traits, which completes them from the catalogue.
import { get, session } from './api.js';
import { useData } from './data.js';
import { plural } from './format.js';
import { namesIn } from './forms.js';
import { html } from './html.js';
import { useId, useRef, useState } from './vendor/hooks.js';

const PATH = '/v1/traits?all=true&limit=1000';
/** The most completions that are shown. */
const MAX_SHOWN = 8;
/** Milliseconds for which the catalogue is not read again. */
const FRESH = 60000;
/** @type {any} What was read last: {token, at, traits: a promise}. */
let latest = null;

/** Return a promise of the catalogue: {traits, next}. */
function catalogue() {
  const token = session.value?.token;
  if (!latest || latest.token !== token || Date.now() - latest.at > FRESH) {
    latest = { token, at: Date.now(), traits: get(PATH) };
    // A failure is shown, and not kept.
    latest.traits.catch(() => (latest = null));
  }
  return latest.traits;
}

/** Return the traits whose names contain a part: those that begin with it first, then those that most nodes have. */
export function completions(traits, part, others) {
  const isBefore = (one, other) =>
    Number(other.name.startsWith(part)) - Number(one.name.startsWith(part)) || other.nodes - one.nodes || (one.name < other.name ? -1 : 1);
  return traits.filter(({ name }) => name.includes(part) && name !== part && !others.includes(name)).sort(isBefore);
}

/**
 * A labelled field of a form. Its value is a text with names.
 *
 * Arrow keys choose a completion, Enter takes it, Escape closes the list.
 *
 * @param label the label above the field; without it, attributes have an aria-label.
 */
export function TraitInput({ label, ...attributes }) {
  const input = useRef(null);
  const id = useId();
  const [part, setPart] = useState(null);
  const [active, setActive] = useState(-1);
  const [isUsed, setUsed] = useState(false);
  const { data, error } = useData(isUsed ? 'traits' : null, catalogue);
  const others = part === null ? [] : namesIn(input.current.value).slice(0, part ? -1 : undefined);
  const found = data && part ? completions(data.traits, part, others) : [];
  const shown = found.slice(0, MAX_SHOWN);
  const isUnknown = data && !data.next && part && !found.length && !data.traits.some(({ name }) => name === part);
  const isOpen = part !== null && Boolean(shown.length || isUnknown || error);
  const close = () => {
    setPart(null);
    setActive(-1);
  };
  const change = (event) => {
    setUsed(true);
    setActive(-1);
    setPart(event.target.value.toUpperCase().split(/[\s,]+/).pop());
  };
  const take = ({ name }) => {
    const field = input.current;
    field.value = `${field.value.replace(/[^\s,]*$/, '')}${name} `;
    close();
    // The form may look at what its fields have.
    field.dispatchEvent(new Event('change', { bubbles: true }));
  };
  const press = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && shown.length) setActive((active + step + (active < 0 && step < 0 ? 1 : 0) + shown.length) % shown.length);
    else if (event.key === 'Enter' && shown[active]) take(shown[active]);
    else if (event.key === 'Escape' && isOpen) close();
    else return;
    event.preventDefault();
  };
  const field = html`<input ref=${input} class="mono" autocomplete="off" autocapitalize="characters" spellcheck=${false} role="combobox"
    aria-autocomplete="list" aria-expanded=${isOpen} aria-controls=${isOpen ? id : undefined}
    aria-activedescendant=${shown[active] ? `${id}-${active}` : undefined}
    ...${attributes} onFocus=${() => setUsed(true)} onInput=${change} onKeyDown=${press} onBlur=${close} />`;
  return html`<div class="completed">
    ${label ? html`<label>${label} ${field}</label>` : field}
    ${isOpen && html`<div class="completions">
      <ul id=${id} role="listbox" aria-label="Traits">
        ${shown.map(
          (trait, index) => html`<li key=${trait.name} id=${`${id}-${index}`} role="option" aria-selected=${index === active}
            onPointerDown=${(event) => event.preventDefault()} onClick=${() => take(trait)}>
            <span class="mono">${trait.name}</span>
            <span class="count">${trait.retired ? 'retired' : trait.nodes ? plural(trait.nodes, 'node') : 'no node'}${trait.exclusive ? ', exclusive' : ''}</span>
            ${trait.description && html`<span class="muted">${trait.description}</span>`}
          </li>`,
        )}
      </ul>
      ${found.length > shown.length && html`<p class="muted">and ${plural(found.length - shown.length, 'other trait')}: enter more of the name</p>`}
      ${isUnknown && html`<p class="muted" role="status">No trait has “${part}” in its name.</p>`}
      ${error && html`<p class="muted" role="status">There is no list of traits: ${error.message}</p>`}
    </div>`}
  </div>`;
}
