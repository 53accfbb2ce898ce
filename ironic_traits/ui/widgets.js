// Small parts that several views use.
import { useContext, useEffect, useId, useRef, useState } from './vendor/hooks.js';
import { createContext } from './vendor/preact.js';
import { local, number, relative, utc } from './format.js';
import { html } from './html.js';
import { link } from './router.js';

const SECOND = 1000;
const SHOWN_TRAITS = 5;

/**
 * A time in the reader's zone, with the exact UTC on hover.
 *
 * @param ago how long ago it is, in its place. Then the time in the reader's zone is on hover, too.
 * @param both how long ago it is, below it.
 */
export function Time({ at, ago = false, both = false }) {
  if (!at) return html`<span class="muted">–</span>`;
  if (ago) return html`<time datetime=${at} title=${`${local(at)} · ${utc(at)}`}>${relative(at)}</time>`;
  return html`<time datetime=${at} title=${utc(at)}>${local(at)}${both && html`<span class="ago">${relative(at)}</span>`}</time>`;
}

/** The message of the problem of a whole view: its parts do not repeat it. */
export const Outage = createContext(/** @type {string | undefined} */ (undefined));

/**
 * What went wrong, and what to do about it.
 *
 * @param {any} properties retry: the function that loads again; without it, the error is that of an action. at: the time
 * of the data that are shown all the same, if there are any. ways: {status: [label, link]}, another way out, or none.
 */
export function Problem({ error, retry, at, ways }) {
  const outage = useContext(Outage);
  if (!error || (retry && error.message === outage)) return null;
  const [label, target] = ways?.[error.status] ?? [];
  const advice = {
    403: 'Your role does not allow this. Ask an operator for access, or log in with another project.',
    404: 'It may have been deleted, or your project may not see it.',
    406: 'The page and the service are of different releases. Reload the page.',
    409: 'Another client has changed it, or its state does not allow this action.',
    503: 'The service, its database or its identity service is busy. Try again in a moment.',
  }[error.status];
  return html`<div class="problem" role="alert">
    <p><strong>${error.message}</strong></p>
    ${advice && html`<p>${advice}</p>`}
    ${at && html`<p>What you see is from <${Age} at=${at} />.</p>`}
    ${retry && html`<button type="button" onClick=${retry}>Try again</button>`}
    ${target && html`<a class="button" href=${target}>${label}</a>`}
  </div>`;
}

/** How long ago a time is, which goes on. */
function Age({ at }) {
  const [, setTurn] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setTurn((turn) => turn + 1), SECOND);
    return () => clearInterval(timer);
  }, []);
  return html`<${Time} at=${at} ago />`;
}

export function Empty({ title, children }) {
  return html`<div class="empty"><p><strong>${title}</strong></p>${children}</div>`;
}

export function Busy({ children = 'Loading …' }) {
  return html`<p class="busy" role="status"><span class="spinner" aria-hidden="true"></span>${children}</p>`;
}

/** A card with a heading. */
export function Card({ title, actions, children, wide = false, level = 2 }) {
  const id = useId();
  const heading = level === 2 ? html`<h2 id=${id}>${title}</h2>` : html`<h3 id=${id}>${title}</h3>`;
  return html`<section class=${wide ? 'card wide' : 'card'} aria-labelledby=${id}>
    <header>${heading}<div class="actions">${actions}</div></header>
    ${children}
  </section>`;
}

/** @type {[RegExp, string][]} */
const STATES = [
  [/failed$|^error$/, 'bad'],
  [/^available$/, 'good'],
  [/^active$/, 'used'],
  [/^(enroll|manageable)$/, 'plain'],
];

/** Return the class of the colour of a provision state. */
export function kindOf(state) {
  return STATES.find(([pattern]) => pattern.test(state ?? ''))?.[1] ?? (state ? 'moving' : 'plain');
}

/** A provision state, with a colour and a word. */
export function State({ state }) {
  return html`<span class="state ${kindOf(state)}">${state ?? 'none'}</span>`;
}

export function Trait({ name, kind = '' }) {
  return html`<span class="trait ${name.startsWith('CUSTOM_') ? 'custom' : ''} ${kind}" title=${name}>${name}</span>`;
}

/** The first traits of a node; first: names of those that come before the others. A button shows the rest. */
export function Traits({ names, first = [] }) {
  const [isOpen, setOpen] = useState(false);
  const sorted = [...names.filter((name) => first.includes(name)), ...names.filter((name) => !first.includes(name))];
  return html`<div class="traits">
    ${sorted.slice(0, isOpen ? undefined : SHOWN_TRAITS).map((name) => html`<${Trait} key=${name} name=${name} />`)}
    ${sorted.length > SHOWN_TRAITS && html`<button type="button" class="more" aria-expanded=${isOpen} aria-label=${isOpen ? 'Fewer traits' : `${sorted.length - SHOWN_TRAITS} more traits`}
      onClick=${() => setOpen(!isOpen)}>${isOpen ? '−' : `+${sorted.length - SHOWN_TRAITS}`}</button>`}
  </div>`;
}

export function NodeLink({ uuid, name }) {
  return html`<a href=${link(['nodes', uuid])}>${name || uuid}</a>`;
}

/** A line to copy. */
export function Command({ label, children }) {
  const code = useRef(null);
  return html`<div class="command">
    <span class="label">${label}</span>
    <code ref=${code} tabindex="0">${children}</code>
    <${CopyButton} text=${children} label=${`Copy ${label}`} shown=${code}>Copy<//>
  </div>`;
}

/** @param {any} props A button that copies a text; shown: the ref of an element with the text, if there is one. */
export function CopyButton({ text, label, shown, children }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      // Without HTTPS there is no clipboard: select or show the text, so that the keyboard copies it.
      if (shown) getSelection()?.selectAllChildren(shown.current);
      else prompt(label, text);
    }
  };
  return html`<button type="button" class="small" onClick=${copy} aria-label=${label}>${copied ? 'Copied' : children}</button>`;
}

/** A horizontal bar of a number out of a whole, with a second, darker part. */
export function Bar({ value, part = 0, whole, kind = '' }) {
  const width = (amount) => ({ width: `${whole ? Math.max(amount ? 0.6 : 0, (100 * amount) / whole) : 0}%` });
  return html`<span class="bar ${kind}" aria-hidden="true">
    <span style=${width(value)}></span><span class="part" style=${width(part)}></span>
  </span>`;
}

/** A dialog that shows something. */
export function Dialog({ title, onClose, children }) {
  const dialog = useRef(null);
  const id = useId();
  useEffect(() => dialog.current.showModal(), []);
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    ${children}
    <div class="buttons"><button type="button" class="primary" onClick=${() => dialog.current.close()}>Close</button></div>
  </dialog>`;
}

/** A dialog that asks before something happens. */
export function Confirm({ title, action, onConfirm, onClose, danger = false, children }) {
  const dialog = useRef(null);
  const id = useId();
  useEffect(() => dialog.current.showModal(), []);
  const confirm = (event) => {
    event.preventDefault();
    onConfirm(new FormData(event.target));
    onClose();
  };
  return html`<dialog ref=${dialog} onClose=${onClose} aria-labelledby=${id}>
    <form onSubmit=${confirm}>
      <h2 id=${id}>${title}</h2>
      ${children}
      <div class="buttons">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class=${danger ? 'danger' : 'primary'}>${action}</button>
      </div>
    </form>
  </dialog>`;
}

/**
 * Links to the first and the next page.
 *
 * @param isStale whether next is of another list than the parameters: the new one is still loading. The link leads to
 * the present place then. It stays, so that it keeps the focus.
 */
export function Pager({ path, parameters, next, isStale = false }) {
  const marker = parameters.marker;
  if (!marker && !next) return null;
  const nextMarker = isStale ? marker : next && new URL(next).searchParams.get('marker');
  return html`<nav class="pager" aria-label="Pages">
    ${marker && html`<a class="button" href=${link(path, { ...parameters, marker: '' })}>First page</a>`}
    ${next && html`<a class="button" href=${link(path, { ...parameters, marker: nextMarker })} aria-disabled=${isStale ? 'true' : undefined} rel="next">Next page</a>`}
  </nav>`;
}

export function Count({ value }) {
  return html`<span class="count">${number(value)}</span>`;
}
