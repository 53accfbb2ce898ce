// The filters of the list of nodes, as they are in the URL of the page and in requests.
import { EMPTIES } from '../api.js';
import { PAGE_PARAMETERS, all } from '../router.js';

/** @import { Values } from '../api.js' */

/** @typedef {{label: string, is_facet: boolean, is_in_requests: boolean, is_selectable: boolean, is_sortable: boolean}} Column */
/**
 * The columns: {field: Column}. The service has the table of fields.
 *
 * @type {Record<string, Column>}
 */
export const COLUMNS = {};
/**
 * Fields with a facet: {filter: label}.
 *
 * @type {Record<string, string>}
 */
export const FIELDS = {};
/**
 * Filters by yes or no: {filter: [words for true, words for false]}.
 *
 * @type {Record<string, [string, string]>}
 */
export const FLAGS = {};
/**
 * The trait filters: {filter: words}.
 *
 * @type {Record<string, string>}
 */
export const TRAIT_FILTERS = {
  traits: 'all of',
  'traits-any': 'any of',
  'not-traits-any': 'none of',
  'not-traits': 'not all of',
};
/**
 * Other filters: {filter: label}.
 *
 * @type {Record<string, string>}
 */
const OTHERS = { search: 'Search', sharded: 'Shard', 'trait-source': 'Trait source', without: '' };
/**
 * Fields whose null has a filter of its own: {field: [filter, value]}. The filter "without" has the others.
 *
 * @type {Record<string, [string, string]>}
 */
const NULLS = { shard: ['sharded', 'false'], origin: ['origin', ''] };
/**
 * Filters of several values that each have a chip: {filter: function from the value to the texts of the chip}.
 *
 * @type {Record<string, (value: string) => {words: string, text: string}>}
 */
const SINGLE = {
  traits: (text) => ({ words: 'has', text }),
  'not-traits-any': (text) => ({ words: 'lacks', text }),
  without: (field) => ({ words: FIELDS[field] ?? field, text: '(none)' }),
};

/**
 * Fill the tables above from /ui/login, when the page starts.
 *
 * @param {{columns: typeof COLUMNS, flags: typeof FLAGS}} tables
 */
export function fill({ columns, flags }) {
  Object.assign(COLUMNS, columns);
  Object.assign(FLAGS, flags);
  for (const [name, { label, is_facet: isFacet }] of Object.entries(columns)) {
    if (!isFacet) continue;
    FIELDS[name] = label;
    EMPTIES.add(name);
  }
}

/** Fields whose value is the same for all nodes that match a request. */
const OF_ALL_MATCHES = ['provision_state', 'maintenance'];

/** Return the fields by which a request for nodes can be limited, besides the resource class. */
export function requestFilters() {
  return Object.keys(COLUMNS).filter((name) => COLUMNS[name].is_facet && COLUMNS[name].is_in_requests && !OF_ALL_MATCHES.includes(name));
}

/** The words for yes and no in a query, which the service knows; in any case. */
const YES = ['true', 't', 'yes', 'y', 'on', '1'];
const NO = ['false', 'f', 'no', 'n', 'off', '0'];
const flag = (/** @type {string} */ value) => (YES.includes(value.toLowerCase()) ? 'true' : NO.includes(value.toLowerCase()) ? 'false' : value);
const isFlag = (/** @type {string} */ name) => name === 'sharded' || Object.hasOwn(FLAGS, name);
const isFilter = (/** @type {string} */ name) => [OTHERS, FIELDS, FLAGS, TRAIT_FILTERS].some((filters) => Object.hasOwn(filters, name));

/**
 * Return the filters in the parameters: {name: [value, …]}. Yes is "true", and no is "false".
 *
 * @param {URLSearchParams} parameters
 */
export function filtersOf(parameters) {
  const filters = Object.entries(all(parameters)).filter(([name]) => isFilter(name));
  return Object.fromEntries(filters.map(([name, values]) => [name, isFlag(name) ? values.map(flag) : values]));
}

/**
 * Return the parameters with changes, on the first page.
 *
 * @param {URLSearchParams} parameters
 * @param {Values} changes
 * @returns {Values}
 */
export function changed(parameters, changes) {
  return { ...all(parameters), ...Object.fromEntries(PAGE_PARAMETERS.map((name) => [name, ''])), ...changes };
}

/**
 * Return the parameters with a trait added to a trait filter.
 *
 * @param {URLSearchParams} parameters
 * @param {string} kind
 * @param {string} name
 */
export function withTrait(parameters, kind, name) {
  const values = parameters.getAll(kind);
  const names = new Set((values[0] ?? '').split(',').filter(Boolean));
  names.add(name);
  return changed(parameters, { [kind]: [[...names].join(','), ...values.slice(1)] });
}

/**
 * Return the parameters with a filter for nodes whose field is null.
 *
 * @param {URLSearchParams} parameters
 * @param {string} field
 */
export function withoutField(parameters, field) {
  if (field in NULLS) return changed(parameters, Object.fromEntries([NULLS[field]]));
  return changed(parameters, { without: [...new Set([...fieldsWithout(parameters), field])].join(',') });
}

/**
 * Whether the filters select nodes whose field is null.
 *
 * @param {URLSearchParams} parameters
 * @param {string} field
 */
export function isWithout(parameters, field) {
  const [filter, value] = NULLS[field] ?? [];
  return filter ? parameters.get(filter) === value : fieldsWithout(parameters).includes(field);
}

/** @param {URLSearchParams} parameters */
function fieldsWithout(parameters) {
  return parameters.getAll('without').flatMap((names) => names.split(',')).filter(Boolean);
}

/**
 * Return the chips of the filters: [{name, words, text, without: parameters}, …].
 *
 * @param {URLSearchParams} parameters
 */
export function chips(parameters) {
  /** @type {{name: string, words: string, text: string, without: Values}[]} */
  const result = [];
  for (const [name, values] of Object.entries(filtersOf(parameters))) {
    values.forEach((value, index) => {
      const others = values.filter((_, each) => each !== index);
      const drop = (/** @type {string} */ rest) => changed(parameters, { [name]: rest ? [rest, ...others] : others });
      if (name in SINGLE) {
        for (const one of value.split(',')) {
          const rest = value.split(',').filter((each) => each !== one).join(',');
          result.push({ name, ...SINGLE[name](one), without: drop(rest) });
        }
      } else if (name in TRAIT_FILTERS) {
        result.push({ name, words: TRAIT_FILTERS[name], text: value.replaceAll(',', ', '), without: drop('') });
      } else if (name in FLAGS) {
        result.push({ name, words: '', text: FLAGS[name][value === 'true' ? 0 : 1], without: drop('') });
      } else if (name === 'sharded') {
        result.push({ name, words: OTHERS[name], text: value === 'false' ? '(none)' : '(any)', without: drop('') });
      } else {
        result.push({ name, words: FIELDS[name] ?? OTHERS[name], text: value || '(none)', without: drop('') });
      }
    });
  }
  return result;
}

/**
 * The options of "baremetal node list" for yes and no: {filter: [for true, for false]}.
 *
 * @type {Record<string, [string, string]>}
 */
const FLAG_OPTIONS = {
  maintenance: ['--maintenance', '--no-maintenance'],
  associated: ['--associated', '--unassociated'],
  retired: ['--retired', '--no-retired'],
  sharded: ['--sharded', '--unsharded'],
};
/**
 * Those that take values, joined by commas: {filter: option}.
 *
 * @type {Record<string, string>}
 */
const LIST_OPTIONS = {
  traits: '--trait',
  'traits-any': '--trait-any',
  'not-traits-any': '--not-trait',
  'not-traits': '--not-all-traits',
  shard: '--shards',
};
/** Characters that the client writes into a URL as they are, where they mean something else. */
const UNSAFE = /[#&+%]/;
const OPTIONS = ['provision_state', 'resource_class', 'owner', 'lessee', 'conductor_group', 'driver', 'trait-source', 'without'];

/**
 * Return the options of "baremetal node list" for the filters; null if it has no option for one of them, or for its
 * value.
 *
 * @param {Record<string, string[]>} filters
 */
export function options(filters) {
  /** @type {string[]} */
  const result = [];
  for (const [name, values] of Object.entries(filters)) {
    // It can repeat none of them as a query can.
    if (values.length > 1) return null;
    const [value] = values;
    const parts = value.split(',');
    if (!value || UNSAFE.test(value)) return null;
    if (name === 'include_children') result.push(...(value === 'true' ? ['--include-children'] : []));
    else if (name in FLAG_OPTIONS) result.push(FLAG_OPTIONS[name][value === 'true' ? 0 : 1]);
    else if (name in LIST_OPTIONS && parts.some((part) => part.startsWith('-'))) {
      if (parts.length > 1) return null;
      result.push(`${LIST_OPTIONS[name]}=${value}`);
    } else if (name in LIST_OPTIONS) result.push(LIST_OPTIONS[name], ...parts);
    else if (OPTIONS.includes(name)) {
      const option = `--${name.replaceAll('_', '-')}`;
      // A word that begins like an option would be taken for one.
      result.push(...(value.startsWith('-') ? [`${option}=${value}`] : [option, value]));
    }
    else return null;
  }
  return result;
}
