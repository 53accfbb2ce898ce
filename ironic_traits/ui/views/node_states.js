// The states of a node, and the verbs that change them.
import { get, request } from '../api.js';
import { useAction } from '../data.js';
import { html } from '../html.js';
import { useEffect, useRef, useState } from '../vendor/hooks.js';
import { Card, Confirm, Problem, State, Time, kindOf } from '../widgets.js';

/**
 * The verbs that need no arguments: {verb: states in which the state machine allows it}.
 *
 * "clean" and "service" need steps or a runbook, and "rescue" needs a password. So they are not here.
 */
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
  deleted: ['active', 'deploy failed', 'error', 'rescue', 'rescue failed', 'rescue wait', 'unrescue failed', 'wait call-back',
    'service failed', 'service wait'],
};
/** The verb that one expects next, if it is allowed: the first of these. */
const PRIMARY = ['unhold', 'unrescue', 'active', 'provide', 'manage'];
/** Those that destroy something: they stand apart. */
const RISKY = ['abort', 'rebuild', 'deleted'];
const LABELS = { active: 'deploy', deleted: 'undeploy' };
const WARNINGS = {
  active: 'The image of the instance is written to the disks.',
  rebuild: 'The disks are written again.',
  deleted: 'The instance is removed, and the node is cleaned: its disks are erased.',
  abort: 'What the node is doing is stopped.',
};
const HARD = 'The operating system on the node is not shut down first.';
const SOFT = 'The operating system on the node is asked to shut down first.';
/** The targets of power: {target: [label, warning]}. */
const POWER = {
  'power on': ['power on', null],
  'power off': ['power off', HARD],
  rebooting: ['reboot', HARD],
  'soft rebooting': ['soft reboot', SOFT],
  'soft power off': ['soft power off', SOFT],
};
/** Looks at a node that a worker works on: QUICK_LOOKS with PAUSE milliseconds between them, then with LONG_PAUSE. */
const QUICK_LOOKS = 120;
const PAUSE = 1000;
const LONG_PAUSE = 10000;
/** The fields by which a look notices a change. */
const LOOKED_AT = ['provision_state', 'target_provision_state', 'power_state', 'target_power_state', 'reservation'];

export function States({ node, hasFailed, onChange }) {
  const [asking, setAsking] = useState(null);
  const [run, state] = useAction(async (method, path, body) => {
    await request(method, `/v1/nodes/${node.uuid}/${path}`, body);
    await onChange();
  }, onChange);
  // A user who may not see the holder of the lock sees only the state.
  const isLocked = isRedacted(node.reservation) ? kindOf(node.provision_state) === 'moving' : node.reservation;
  const isMoving = Boolean(node.target_power_state || (node.target_provision_state && isLocked));
  // It waits for the ramdisk on its machine, for example, and nothing holds its lock.
  const isWaiting = !isMoving && node.provision_state.includes('wait');
  useLook(node, isMoving || isWaiting, hasFailed, onChange);
  const verbs = Object.keys(VERBS).filter((verb) => VERBS[verb].includes(node.provision_state));
  const primary = PRIMARY.find((verb) => verbs.includes(verb));
  const targets = Object.keys(POWER).filter((target) => canPower(target, node.power_state));
  const button = (label, onClick, kind = '') => html`<button type="button" class=${kind} disabled=${state.running} onClick=${onClick}>${label}</button>`;
  const provision = (verb) => setAsking({
    title: `${LABELS[verb] ?? verb} ${node.name ?? node.uuid}?`,
    text: WARNINGS[verb],
    action: LABELS[verb] ?? verb,
    danger: verb === 'deleted' || verb === 'rebuild',
    confirm: () => run('PUT', 'states/provision', { target: verb }),
  });
  const power = (target) => setAsking({
    title: `${POWER[target][0]}: ${node.name ?? node.uuid}?`,
    text: POWER[target][1],
    action: POWER[target][0],
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
      <dt>Maintenance</dt><dd>${node.maintenance ? `yes: ${node.maintenance_reason || 'no reason'}` : 'no'}</dd>
      ${node.instance_uuid && html`<dt>Instance</dt><dd class="mono">${node.instance_uuid}</dd>`}
    </dl>
    ${node.last_error && !isRedacted(node.last_error) && html`<div class="note warn"><strong>Last error</strong><p>${node.last_error}</p></div>`}
    ${(isMoving || isWaiting) && html`<p class="busy" role="status"><span class="spinner" aria-hidden="true"></span>${isMoving ? 'A worker works on the node …' : 'The node waits for its machine …'}</p>`}
    <${Problem} error=${state.error} />
    ${node.origin && html`<p class="muted">The Ironic of the cloud “${node.origin}” manages this node. Change its state there.</p>`}
    ${!node.origin && html`<div class="row verbs">
        ${verbs.filter((verb) => !RISKY.includes(verb)).map((verb) => button(LABELS[verb] ?? verb, () => provision(verb), verb === primary ? 'primary' : ''))}
        ${button(node.maintenance ? 'End maintenance' : 'Set maintenance', maintain)}
      </div>
      <div class="row verbs apart">
        ${targets.filter((target) => !POWER[target][1]).map((target) => button(POWER[target][0], () => power(target)))}
        ${targets.filter((target) => POWER[target][1]).map((target) => button(POWER[target][0], () => power(target), 'risky'))}
        <span class="spread"></span>
        ${verbs.filter((verb) => RISKY.includes(verb)).map((verb) => button(LABELS[verb] ?? verb, () => provision(verb), 'risky'))}
      </div>`}
    ${asking &&
    html`<${Confirm} title=${asking.title} action=${asking.action} danger=${asking.danger} onConfirm=${asking.confirm} onClose=${() => setAsking(null)}>
      ${asking.text && html`<p>${asking.text}</p>`}
      ${asking.reason && html`<label>Reason <input name="reason" size="40" /></label>`}
    <//>`}
  <//>`;
}

/** Whether the service hides a value from the user. */
function isRedacted(value) {
  return String(value ?? '').startsWith('** Redacted');
}

/** Whether a target makes a difference in a power state: a node that is off has nothing to shut down. */
function canPower(target, state) {
  return target !== state && !(state === 'power off' && target.startsWith('soft'));
}

/** Look at a node until the worker has finished, and call onChange once for each change; again if that has failed. */
function useLook(node, isMoving, hasFailed, onChange) {
  // A timer lives longer than a render. So it reads the values of the latest render here.
  const latest = useRef(null);
  latest.current = { node, hasFailed, onChange };
  useEffect(() => {
    if (!isMoving) return undefined;
    const abort = new AbortController();
    let looks = 0;
    let isLooking = false;
    let reported = null;
    let timer;
    const look = async () => {
      looks += 1;
      timer = setTimeout(look, looks < QUICK_LOOKS ? PAUSE : LONG_PAUSE);
      if (isLooking) return;
      isLooking = true;
      const now = await lookAt(node.uuid, abort.signal);
      isLooking = false;
      const shown = latest.current.node;
      // One load for each change: a second one would abort the first.
      const isReported = shown === reported && !latest.current.hasFailed;
      if (abort.signal.aborted || !now || isReported || LOOKED_AT.every((name) => now[name] === shown[name])) return;
      reported = shown;
      latest.current.onChange();
    };
    timer = setTimeout(look, PAUSE);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [node.uuid, node.provision_state, isMoving]);
}

/** Return LOOKED_AT of a node: {} if the node was deleted, null if the request fails. */
function lookAt(uuid, signal) {
  const path = `/v1/nodes/${uuid}?fields=${LOOKED_AT.join()}`;
  return get(path, { signal }).catch((error) => (error.status === 404 ? {} : null));
}
