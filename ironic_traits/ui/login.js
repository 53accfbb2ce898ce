// Login and logout. The token stays in this tab.
import { ApiError, request, session } from './api.js';
import { useAction } from './data.js';
import { html } from './html.js';
import { useState } from './vendor/hooks.js';
import { Problem } from './widgets.js';

/** Log out: revoke the token, and forget it. */
export async function endSession() {
  const revoked = request('DELETE', '/ui/login').catch(() => null);
  await Promise.race([revoked, new Promise((resolve) => setTimeout(resolve, 3000))]);
  session.set(null);
}

export function Login({ strategy, message }) {
  const [way, setWay] = useState(strategy === 'keystone' ? 'password' : 'token');
  return html`<main class="login">
    <div class="card">
      <h1><span class="logo" aria-hidden="true"></span>ironic-traits</h1>
      ${message && html`<p class="note" role="status">${message}</p>`}
      ${way === 'password' ? html`<${Password} />` : html`<${Token} />`}
      ${strategy === 'keystone' &&
      html`<button type="button" class="plain" onClick=${() => setWay(way === 'password' ? 'token' : 'password')}>
        ${way === 'password' ? 'Use a token instead' : 'Use a password instead'}
      </button>`}
    </div>
  </main>`;
}

function Password() {
  const [scope, setScope] = useState('project');
  const [login, state] = useAction(async (form) => {
    const values = Object.fromEntries([...new FormData(form)].filter(([, value]) => value));
    delete values.scope;
    session.set(await request('POST', '/ui/login', { ...values, system: scope === 'system' }));
  });
  const submit = (event) => {
    event.preventDefault();
    login(event.target);
  };
  return html`<form onSubmit=${submit}>
    <p class="muted">Log in with your account of the Identity service (keystone).</p>
    <label>User <input name="user" autocomplete="username" required autofocus /></label>
    <label>Password <input name="password" type="password" autocomplete="current-password" required /></label>
    <fieldset class="inline">
      <legend>Scope</legend>
      ${['project', 'system'].map(
        (each) =>
          html`<label><input type="radio" name="scope" value=${each} checked=${scope === each} onChange=${() => setScope(each)} /> ${each}</label>`,
      )}
    </fieldset>
    ${scope === 'project' && html`<label>Project <input name="project" required /></label>`}
    <details>
      <summary>Domains</summary>
      <label>Domain of the user <input name="user_domain" placeholder="Default" /></label>
      ${scope === 'project' && html`<label>Domain of the project <input name="project_domain" placeholder="Default" /></label>`}
    </details>
    <${Problem} error=${state.error} />
    <button type="submit" class="primary" disabled=${state.running}>${state.running ? 'Logging in …' : 'Log in'}</button>
  </form>`;
}

function Token() {
  const [login, state] = useAction(async (form) => {
    const token = String(new FormData(form).get('token')).trim();
    const ask = (path) => request('GET', path, undefined, { headers: { 'X-Auth-Token': token } });
    try {
      await ask('/v1/nodes?limit=1&fields=uuid');
    } catch (error) {
      throw error.status === 401 ? new ApiError(401, 'The token is not valid, or has expired. Get a new one.') : error;
    }
    // Only the system's users see workers.
    const system = await ask('/v1/conductors?limit=1').then(() => true, () => false);
    session.set({ token, system });
  });
  const submit = (event) => {
    event.preventDefault();
    login(event.target);
  };
  return html`<form onSubmit=${submit}>
    <p class="muted">Paste a token: <code>openstack token issue -f value -c id</code></p>
    <label>Token <input name="token" type="password" autocomplete="off" required autofocus /></label>
    <${Problem} error=${state.error} />
    <button type="submit" class="primary" disabled=${state.running}>Log in</button>
  </form>`;
}
