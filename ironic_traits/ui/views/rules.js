// The inspection rules, and what a draft of a rule would do to stored data.
import { ApiError, get, query, request } from '../api.js';
import { useAction, useCancel, useData } from '../data.js';
import { number, plural } from '../format.js';
import { FieldError, namesIn } from '../forms.js';
import { html } from '../html.js';
import { TraitInput } from '../trait_input.js';
import { useRef, useState } from '../vendor/hooks.js';
import { Busy, Card, Empty, NodeLink, Pager, Problem, Trait } from '../widgets.js';
import { Wrong, marks } from './fields.js';

const DRAFT = `{
  "name": "big-memory",
  "conditions": [
    {"op": "gt", "args": {"values": ["{inventory[memory][physical_mb]}", 200000]}}
  ],
  "actions": [
    {"op": "add-trait", "args": {"name": "CUSTOM_BIG_MEMORY"}}
  ]
}`;
const SIZE = 50;
/** Nodes in one response of a preview. Nodes whose trace is shown: those that would change come first. */
const PAGE = 200;
const MAX_TRACES = 50;

/** Facts that most inspections find. Others can be entered. */
const FACTS = [
  'inventory[memory][physical_mb]', 'inventory[cpu][count]', 'inventory[cpu][model_name]', 'inventory[cpu][flags]',
  'inventory[cpu][architecture]', 'inventory[system_vendor][manufacturer]', 'inventory[system_vendor][product_name]',
  'inventory[boot][current_boot_mode]', 'inventory[bmc_address]',
];
/**
 * What can be asked of a fact: {operator: words}.
 *
 * @type {Record<string, string>}
 */
const OPERATORS = { ge: 'is at least', le: 'is at most', eq: 'is', has: 'has the member', contains: 'has the text', '!is-empty': 'is known' };

export function Rules({ parameters }) {
  const marker = parameters.get('marker');
  const path = `/v1/inspection_rules${query({ detail: true, limit: SIZE, marker })}`;
  const { data, error, loading, isStale, at, reload } = useData(path, (signal) => get(path, { signal }));
  return html`
    <div class="title"><h1>Rules</h1><span class="muted">traits that follow from inspections</span></div>
    <div class="columns">
      <${Preview} onCreate=${reload} />
      <${Card} title="Rules of the API">
        <p class="muted">Rules in files and the standard rules are in force, too. A preview shows what they do.</p>
        <${Problem} error=${error} retry=${reload} at=${at} />
        ${!data && loading && html`<${Busy} />`}
        ${data && !data.inspection_rules.length && html`<${Empty} title="No rule was created here.">
          <p>Write one in the draft, look at its preview, then create it.</p><//>`}
        <div class="stack">${(data?.inspection_rules ?? []).map((rule) => html`<${Rule} key=${rule.uuid} rule=${rule} />`)}</div>
        ${data && html`<${Pager} path=${['rules']} parameters=${{ marker }} next=${data.next} isStale=${isStale} />`}
      <//>
    </div>`;
}

function Rule({ rule }) {
  const { conditions, actions } = rule;
  return html`<article>
    <h3>${rule.name ?? rule.uuid}</h3>
    ${rule.description && html`<p>${rule.description}</p>`}
    <p class="muted">priority ${rule.priority}${rule.phase && `, phase ${rule.phase}`}${rule.sensitive && ', sensitive: its actions and conditions are not shown'}</p>
    <details><summary>Conditions and actions</summary><pre tabindex="0">${JSON.stringify({ conditions, actions }, null, 2)}</pre></details>
  </article>`;
}

/**
 * Return a rule that gives nodes traits if a fact is as it should be; any node without a fact.
 *
 * @param {{traits: string[], fact: string, operator: string, value: string}} fields
 */
export function ruleOf({ traits, fact, operator, value }) {
  const name = traits.map((trait) => trait.replace(/^CUSTOM_/, '').toLowerCase().replaceAll('_', '-')).join('-and-');
  return {
    name,
    conditions: fact ? [{ op: operator, args: argumentsOf(`{${fact.replace(/^\{|\}$/g, '')}}`, operator, value) }] : [],
    actions: traits.map((trait) => ({ op: 'add-trait', args: { name: trait } })),
  };
}

/**
 * @param {string} fact a reference: {inventory[cpu][count]}.
 * @param {string} operator
 * @param {string} value
 */
function argumentsOf(fact, operator, value) {
  if (operator === '!is-empty') return { value: fact };
  // What people enter is a text, and no regular expression. A brace in a rule begins a reference, unless it is doubled.
  if (operator === 'contains') return { value: fact, regex: value.replaceAll(/[.*+?^$()|[\]\\{}]/g, String.raw`\$&`) };
  const text = value.replaceAll(/[{}]/g, '$&$&');
  if (operator === 'has') return { value: fact, member: text };
  return { values: [fact, value !== '' && Number.isFinite(Number(value)) ? Number(value) : text] };
}

/** Return the rules of the draft in a form; throws Error with a sentence for people. */
function draftOf(form) {
  const text = form.get('rules').trim();
  try {
    return text ? [JSON.parse(text)].flat() : [];
  } catch (error) {
    throw new Error(`The draft is not JSON: ${error.message}`, { cause: error });
  }
}

/** Return the body of a request for a preview from a form; throws Error with a sentence for people. */
function bodyOf(form) {
  const names = form.get('nodes').split(/[\s,]+/).filter(Boolean);
  const rules = draftOf(form);
  return { limit: PAGE, ...(names.length ? { nodes: names } : { where: {} }), ...(rules.length && { rules }) };
}

/** Create the rules of a draft one by one, and return their names. Throws Error: those before it stay created. */
async function create(rules, onCreate) {
  const names = [];
  try {
    for (const rule of rules) {
      const created = await request('POST', '/v1/inspection_rules', rule);
      names.push(created.name ?? created.uuid);
    }
  } catch (error) {
    const rest = names.length ? ` Created before that: ${names.join(', ')}.` : '';
    const { name } = rules[names.length];
    if (error.status === 409 && name) throw new Error(`There is a rule “${name}” already. Delete it first, or name the new one otherwise.${rest}`, { cause: error });
    throw new ApiError(error.status, error.message + rest, error.body);
  } finally {
    onCreate();
  }
  return names;
}

/** Return the preview of all nodes, page by page; showProgress gets the part of it that has come. Throws ApiError. */
async function previewOf(body, signal, showProgress) {
  let whole = null;
  let marker = null;
  do {
    const page = await request('POST', '/v1/inspection_rules/preview', { ...body, ...(marker ? { marker } : {}) }, { signal });
    whole = sum(whole, page);
    showProgress(whole);
    marker = page.next;
  } while (marker);
  return whole;
}

/** Return a part of a preview with one more page. */
function sum(part, page) {
  const isChanged = (node) => node.added.length + node.removed.length > 0;
  const nodes = [...(part?.nodes ?? []), ...page.nodes];
  const totals = { ...page.totals };
  for (const [name, value] of Object.entries(part?.totals ?? {})) {
    totals[name] = typeof value === 'number' ? value + totals[name] : added(value, totals[name]);
  }
  return { ...page, totals, nodes: [...nodes.filter(isChanged), ...nodes.filter((node) => !isChanged(node))].slice(0, MAX_TRACES) };
}

/** Return the sums of counts: {name: count}. */
function added(counts, others) {
  const sums = { ...counts };
  for (const [name, count] of Object.entries(others)) sums[name] = (sums[name] ?? 0) + count;
  return sums;
}

function Preview({ onCreate }) {
  const form = useRef(null);
  const [progress, setProgress] = useState(null);
  const { begin, cancel } = useCancel();
  const [run, state, reset] = useAction(async (values) => {
    setProgress(null);
    return { draft: draftOf(values), preview: await previewOf(bodyOf(values), begin(), setProgress) };
  });
  // What is created is what was previewed, once.
  const [creation, created, forget] = useAction((draft) => create(draft, onCreate).finally(reset));
  const stop = () => {
    cancel();
    reset();
  };
  const change = () => {
    stop();
    forget();
  };
  const write = (rule) => {
    form.current.elements.rules.value = JSON.stringify(rule, null, 2);
    change();
  };
  const submit = (event) => {
    event.preventDefault();
    forget();
    run(new FormData(event.target));
  };
  return html`<${Card} title="Preview">
    <form class="request" ref=${form} onSubmit=${submit} onInput=${change}>
      <${NewRule} onWrite=${write} />
      <label>Draft of a rule, or a list of rules <textarea name="rules" rows="10" spellcheck=${false} defaultValue=${DRAFT} aria-describedby="draft-help"></textarea></label>
      <p id="draft-help" class="muted">JSON. In the preview, it replaces the rule of the same name. Without a draft, the rules in force run. Nothing is written.</p>
      <label>Nodes <input name="nodes" placeholder="names or uuids; empty: all nodes" /></label>
      <div class="buttons">
        ${state.result && html`<button type="button" disabled=${created.running} onClick=${() => creation(state.result.draft)}>Create</button>`}
        <button type="submit" class="primary" disabled=${state.running}>${state.running ? 'Running …' : 'Preview'}</button>
      </div>
    </form>
    <${Problem} error=${state.error} />
    <${Problem} error=${created.error} />
    ${created.result && html`<p class="note good" role="status">${created.result.length ? `Created: ${created.result.join(', ')}. It runs at the end of each inspection.` : 'There is no draft to create.'}</p>`}
    ${state.running &&
    html`<${Busy}>${progress ? `The rules have run for ${number(progress.totals.nodes)} of ${plural(progress.selected - progress.without_data, 'node')} …` : 'The rules run over the stored data …'}<//>
      <div class="buttons"><button type="button" onClick=${stop}>Cancel</button></div>`}
    ${state.result && html`<${Result} result=${state.result.preview} />`}
  <//>`;
}

/** Fields for a rule with one condition. onWrite gets the rule. */
function NewRule({ onWrite }) {
  const [operator, setOperator] = useState('ge');
  const [wrong, setWrong] = useState(null);
  const write = (event) => {
    const form = new FormData(event.target.form);
    const text = (name) => String(form.get(name) ?? '').trim();
    const traits = namesIn(text('rule_traits'));
    setWrong(traits.length ? null : new FieldError('rule_traits', 'Enter a trait.'));
    if (traits.length) onWrite(ruleOf({ traits, fact: text('rule_fact'), operator: text('rule_operator'), value: text('rule_value') }));
  };
  return html`<fieldset class="request">
    <legend>A new rule</legend>
    <${TraitInput} label="A node gets these traits" name="rule_traits" ...${marks(wrong, 'rule_traits')} />
    <${Wrong} error=${wrong} field="rule_traits" />
    <label>if this fact <input name="rule_fact" class="mono" list="facts" autocomplete="off" placeholder="inventory[…][…], or nothing" /></label>
    <datalist id="facts">${FACTS.map((fact) => html`<option value=${fact} />`)}</datalist>
    <div class="row">
      <label><span class="visually-hidden">How the fact is compared</span>
        <select name="rule_operator" value=${operator} onChange=${(event) => setOperator(event.target.value)}>
          ${Object.entries(OPERATORS).map(([name, words]) => html`<option value=${name}>${words}</option>`)}</select></label>
      ${operator !== '!is-empty' && html`<label><span class="visually-hidden">Value</span> <input name="rule_value" placeholder="a value" /></label>`}
      <button type="button" onClick=${write}>Write the draft</button>
    </div>
  </fieldset>`;
}

function Result({ result }) {
  const { totals, nodes } = result;
  const list = (counts) => Object.entries(counts).map(([name, count]) => html`<span><${Trait} name=${name} /> <span class="count">${plural(count, 'node')}</span></span>`);
  return html`
    <p class="big" role="status">${plural(totals.changed, 'node')} would change</p>
    <p class="muted">of ${plural(result.selected, 'node')}; ${number(result.without_data)} without data</p>
    ${Object.keys(totals.added).length > 0 && html`<h3>Added</h3><div class="traits">${list(totals.added)}</div>`}
    ${Object.keys(totals.removed).length > 0 && html`<h3>Removed</h3><div class="traits">${list(totals.removed)}</div>`}
    ${Object.keys(totals.failed).length > 0 && html`<p class="note warn">Rules that fail: ${Object.entries(totals.failed).map(([name, count]) => `${name} (${plural(count, 'node')})`).join(', ')}</p>`}
    ${!nodes.length && html`<p class="muted">No node has data of an inspection.</p>`}
    ${nodes.map((node) => html`<${Trace} key=${node.uuid} node=${node} />`)}
    ${totals.nodes > nodes.length && html`<p class="muted">and ${plural(totals.nodes - nodes.length, 'other node')}</p>`}`;
}

function Trace({ node }) {
  return html`<details class="trace">
    <summary>${node.name ?? node.uuid}
      ${' '}${node.added.map((name) => html`<span>+ <${Trait} name=${name} kind="new" /> </span>`)}${node.removed.map((name) => html`<span>− <${Trait} name=${name} kind="gone" /> </span>`)}
      ${!node.added.length && !node.removed.length && html`<span class="muted">no change</span>`}
    </summary>
    <p><${NodeLink} uuid=${node.uuid} name=${node.name} />${node.failure && `: ${node.failure}`}</p>
    ${node.vetoed.length > 0 && html`<p>Vetoed: ${node.vetoed.join(', ')}</p>`}
    <div class="scroll" tabindex="0" role="region" aria-label="What each rule does"><table>
      <thead><tr><th scope="col">Rule</th><th scope="col">Result</th></tr></thead>
      <tbody>${node.rules.map(
        (rule) => html`<tr key=${rule.rule}><td>${rule.rule}</td><td class="wrap">
          ${rule.failure && html`<div class="state bad">${rule.failure}</div>`}
          ${rule.matched ? rule.traits.map((name) => html`<${Trait} name=${name} /> `) : html`<span class="muted">does not match: ${rule.unmet}</span>`}
          ${rule.mismatches.map((text) => html`<div>${typeof text === 'string' ? text : JSON.stringify(text)}</div>`)}
          ${rule.warnings.map((text) => html`<div class="muted">${text}</div>`)}
        </td></tr>`,
      )}</tbody>
    </table></div>
  </details>`;
}
