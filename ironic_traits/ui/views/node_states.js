// The states of a node, and the verbs that change them.
import { get, request } from '../api.js';
import { useAction } from '../data.js';
import { html } from '../html.js';
import { useEffect, useState } from '../vendor/hooks.js';
import { Card, Confirm, Problem, State, Time } from '../widgets.js';

/** The verbs that need no arguments: {verb: states in which the state machine allows it}. */
export const VERBS = {
  manage: ['enroll', 'available', 'clean failed', 'inspect failed', 'adopt failed'],
  inspect: ['manageable', 'inspect failed'],
  provide: ['manageable'],
  adopt: ['manageable', 'adopt failed'],
  active: ['available', 'deploy failed'],
  rebuild: ['active', 'deploy failed', 'error'],
  unrescue: ['rescue', 'rescue failed', 'unrescue failed'],
  unhold: ['clean hold', 'deploy hold', 'service hold'],
  abort: ['clean wait', 'clean hold', 'inspect wait', 'wait call-back', 'deploy hold', 'rescue wait', 'service wait',
    'service hold', 'service failed'],
  deleted: ['active', 'deploy failed', 'error', 'rescue', 'rescue failed', 'unrescue failed', 'wait call-back', 'service failed'],
};
const LABELS = { active: 'deploy', deleted: 'undeploy' };
const WARNINGS = {
  active: 'The image of the instance is written to the disks.',
  rebuild: 'The disks are written again.',
  deleted: 'The instance is removed, and the node is cleaned: its disks are erased.',
  abort: 'What the node is doing is stopped.',
};
const POWER = ['power on', 'power off', 'rebooting'];
/** Milliseconds between looks at a node that a worker works on, and how many of them. */
const PAUSE = 1000;
const MAX_LOOKS = 120;

export function States({ node, onChange }) {
  const [asking, setAsking] = useState(null);
  const [run, state] = useAction(async (method, path, body) => {
    await request(method, `/v1/nodes/${node.uuid}/${path}`, body);
    onChange();
  }, onChange);
  const isMoving = Boolean(node.target_power_state || (node.target_provision_state && node.reservation));
  useLook(node, isMoving, onChange);
  const verbs = Object.keys(VERBS).filter((verb) => VERBS[verb].includes(node.provision_state));
  const provision = (verb) => setAsking({
    title: `${LABELS[verb] ?? verb} ${node.name ?? node.uuid}?`,
    text: WARNINGS[verb],
    action: LABELS[verb] ?? verb,
    danger: verb === 'deleted' || verb === 'rebuild',
    confirm: () => run('PUT', 'states/provision', { target: verb }),
  });
  const power = (target) => setAsking({
    title: `${target}: ${node.name ?? node.uuid}?`,
    text: target === 'power on' ? null : 'An instance on the node is not asked before.',
    action: target,
    danger: target !== 'power on',
    confirm: () => run('PUT', 'states/power', { target }),
  });
  const maintain = () =>
    node.maintenance
      ? run('DELETE', 'maintenance')
      : setAsking({ title: 'Set maintenance?', reason: true, action: 'Set maintenance', confirm: (form) => run('PUT', 'maintenance', { reason: form.get('reason') }) });
  return html`<${Card} title="State">
    <dl class="fields">
      <dt>Provision</dt><dd><${State} state=${node.provision_state} />${node.target_provision_state && html` → ${node.target_provision_state}`}
        <span class="muted"> <${Time} at=${node.provision_updated_at} ago /></span></dd>
      <dt>Power</dt><dd>${node.power_state ?? 'unknown'}${node.target_power_state && html` → ${node.target_power_state}`}</dd>
      <dt>Maintenance</dt><dd>${node.maintenance ? `yes: ${node.maintenance_reason ?? 'no reason'}` : 'no'}</dd>
      ${node.instance_uuid && html`<dt>Instance</dt><dd class="mono">${node.instance_uuid}</dd>`}
    </dl>
    ${node.last_error && html`<div class="note warn"><strong>Last error</strong><p>${node.last_error}</p></div>`}
    ${isMoving && html`<p class="busy" role="status"><span class="spinner" aria-hidden="true"></span>A worker works on the node …</p>`}
    <${Problem} error=${state.error} />
    <div class="row verbs">
      ${verbs.map((verb) => html`<button type="button" disabled=${state.running} onClick=${() => provision(verb)}>${LABELS[verb] ?? verb}</button>`)}
      ${POWER.filter((target) => target !== node.power_state).map((target) => html`<button type="button" disabled=${state.running} onClick=${() => power(target)}>${target === 'rebooting' ? 'reboot' : target}</button>`)}
      <button type="button" disabled=${state.running} onClick=${maintain}>${node.maintenance ? 'End maintenance' : 'Set maintenance'}</button>
    </div>
    ${asking &&
    html`<${Confirm} title=${asking.title} action=${asking.action} danger=${asking.danger} onConfirm=${asking.confirm} onClose=${() => setAsking(null)}>
      ${asking.text && html`<p>${asking.text}</p>`}
      ${asking.reason && html`<label>Reason <input name="reason" size="40" /></label>`}
    <//>`}
  <//>`;
}

/** Look at a node now and then until the worker has finished, and report each change. */
function useLook(node, isMoving, onChange) {
  const key = isMoving ? `${node.uuid} ${node.provision_state}` : null;
  useEffect(() => {
    if (!key) return undefined;
    let looks = 0;
    const timer = setInterval(async () => {
      looks += 1;
      if (looks > MAX_LOOKS) clearInterval(timer);
      const now = await get(`/v1/nodes/${node.uuid}?fields=provision_state,power_state,target_power_state,reservation`).catch(() => null);
      const isSame = now && now.provision_state === node.provision_state && now.power_state === node.power_state && now.reservation === node.reservation;
      if (now && !isSame) onChange();
    }, PAUSE);
    return () => clearInterval(timer);
  }, [key]);
}
