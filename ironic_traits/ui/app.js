// The shell: navigation, login, and the view of the place.
import { get, service, session } from './api.js';
import { useData } from './data.js';
import { html } from './html.js';
import { Keyboard } from './keyboard.js';
import { Login, endSession } from './login.js';
import { AGAIN, PAGE_PARAMETERS, link, mayLeave, usePlace, useTitle } from './router.js';
import { SavedViews } from './saved.js';
import { ROWS, store, stored } from './stored.js';
import { render } from './vendor/preact.js';
import { useEffect, useErrorBoundary, useRef, useState } from './vendor/hooks.js';
import { Busy, Empty, Problem } from './widgets.js';
import { Capacity } from './views/capacity.js';
import { Changes } from './views/changes.js';
import { fill } from './views/filters.js';
import { Node } from './views/node.js';
import { Nodes } from './views/nodes.js';
import { Overview } from './views/overview.js';
import { Racks } from './views/racks.js';
import { Reservations } from './views/reservations.js';
import { Rules } from './views/rules.js';
import { Why } from './views/why.js';

const VIEWS = {
  overview: ['Overview', Overview],
  nodes: ['Nodes', Nodes],
  racks: ['Racks', Racks],
  why: ['Why', Why],
  capacity: ['Capacity', Capacity],
  reservations: ['Reservations', Reservations],
  rules: ['Rules', Rules],
  changes: ['Changes', Changes],
};
const THEMES = ['auto', 'light', 'dark'];
/** What the browser remembers: the choice of colours. */
const THEME = 'theme';

function App() {
  const [ended, setEnded] = useState(null);
  const [, setTurn] = useState(0);
  const kept = useRef(/** @type {string | null} */ (null));
  const strategy = useData('login', () => get('/ui/login'));
  useEffect(
    () =>
      session.listen((message) => {
        setEnded(message);
        setTurn((turn) => turn + 1);
        // A dialog would lie over the login.
        if (!session.value) document.querySelectorAll('dialog').forEach((dialog) => dialog.close());
        if (session.value) dispatchEvent(new Event(AGAIN));
      }),
    [],
  );
  if (!strategy.data) {
    return html`<main class="alone">${strategy.error ? html`<${Problem} error=${strategy.error} retry=${strategy.reload} />` : html`<${Busy} />`}</main>`;
  }
  const auth = strategy.data.auth_strategy;
  service.strategy = auth;
  fill(strategy.data);
  const needsLogin = (auth === 'keystone' || auth === 'noauth2') && !session.value;
  if (!needsLogin) kept.current = userOf(session.value);
  else if (!ended) kept.current = null;
  // After the end of a session, the view stays for the same user: something in it may not be saved.
  return html`${needsLogin && html`<${Login} key="login" strategy=${auth} message=${ended} />`}
    ${kept.current !== null && html`<div key="shell" class="shell" hidden=${needsLogin}><${Shell} key=${kept.current} strategy=${auth} /></div>`}`;
}

/** Return what is equal in the sessions of a user. Of a pasted token, the user is not known. */
function userOf(value) {
  const { user_id: user, project_id: project, system, token } = value ?? {};
  return user ? JSON.stringify([user, project, system]) : (token ?? '');
}

function Shell({ strategy }) {
  const { hash, path, parameters } = usePlace();
  const name = path[0] ?? 'overview';
  const [label, Listed] = Object.hasOwn(VIEWS, name) ? VIEWS[name] : ['No such view', NoView];
  const main = useRef(null);
  const title = path[1] ?? label;
  const shown = useRef(title);
  useTitle(title);
  useEffect(() => {
    // A new view takes the focus, so that a screen reader begins to read it.
    if (shown.current !== title) {
      // The focus alone would scroll the title below the header.
      main.current.focus({ preventScroll: true });
      scrollTo(0, 0);
    }
    shown.current = title;
  }, [title]);
  const View = name === 'nodes' && path[1] ? Node : Listed;
  return html`
    <button type="button" class="skip" onClick=${() => main.current.focus()}>Skip to the content</button>
    <header class="top">
      <a class="brand" href="#/overview"><span class="logo" aria-hidden="true"></span>ironic-traits</a>
      <nav aria-label="Views">
        ${Object.entries(VIEWS).map(
          ([each, [text]]) =>
            html`<a href=${link([each])} aria-current=${each === name ? 'page' : undefined}>${text}</a>`,
        )}
      </nav>
      <div class="session">
        <${SavedViews} />
        <${Keyboard} />
        <${Theme} />
        ${strategy === 'noauth' && html`<span class="muted">no login</span>`}
        ${session.value && html`<${User} />`}
      </div>
    </header>
    <main ref=${main} tabindex="-1">
      <p class="on-paper">${[...parameters].filter(([each]) => !PAGE_PARAMETERS.includes(each)).map(([each, value]) => `${each}: ${value}`).join(' · ')}</p>
      <${Guard} place=${hash}>
        <${View} key=${name + (path[1] ?? '')} ident=${path[1]} parameters=${parameters} />
      <//>
    </main>`;
}

function NoView() {
  return html`<section class="card"><${Empty} title="There is no such view."><p><a href="#/overview">Overview</a></p><//></section>`;
}

/** What is shown in place of a view that fails, until the user goes to another place. */
function Guard({ place, children }) {
  const failed = useRef(null);
  const [error, reset] = useErrorBoundary((reason) => {
    failed.current = place;
    console.error(reason);
  });
  if (failed.current !== place) failed.current = null;
  return error && failed.current ? html`<${Problem} error=${new Error(`This view failed: ${error.message}`)} retry=${reset} />` : children;
}

function User() {
  const { user, project, system } = session.value ?? {};
  const scope = system ? 'system' : project;
  return html`<span class="user">${user ?? 'token'}${scope && html`<span class="muted"> · ${scope}</span>`}</span>
    <button type="button" class="small" onClick=${() => mayLeave() && endSession()}>Log out</button>`;
}

/** The choice of colours, which the browser remembers. */
function Theme() {
  const [theme, setTheme] = useState(() => document.documentElement.dataset.theme ?? 'auto');
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  const change = () => {
    setTheme(next);
    document.documentElement.dataset.theme = next;
    store(THEME, next);
  };
  return html`<button type="button" class="small" onClick=${change} title="Change the colours">
    <span class="visually-hidden">Colours: </span>${{ auto: '◐ auto', light: '☀ light', dark: '☾ dark' }[theme]}
  </button>`;
}

document.documentElement.dataset.theme = stored(THEME) ?? 'auto';
document.documentElement.dataset.rows = stored(ROWS) ?? '';
render(html`<${App} />`, /** @type {HTMLElement} */ (document.getElementById('app')));
