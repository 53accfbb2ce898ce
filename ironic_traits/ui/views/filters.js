// The filters of the list of nodes, as they are in the URL of the page and in requests.

/** Fields with a facet: {filter: label}. */
export const FIELDS = {
  provision_state: 'Provision state',
  resource_class: 'Resource class',
  maintenance: 'Maintenance',
  owner: 'Owner',
  lessee: 'Lessee',
  shard: 'Shard',
  conductor_group: 'Conductor group',
  origin: 'Origin (mirrored cloud)',
  driver: 'Driver',
};
/** Filters by yes or no: {filter: [words for true, words for false]}. */
export const FLAGS = {
  eligible: ['can be reserved', 'cannot be reserved'],
  reserved: ['reserved', 'not reserved'],
  associated: ['with an instance', 'without an instance'],
  retired: ['retired', 'not retired'],
};
/** The trait filters: {filter: words}. */
export const TRAIT_FILTERS = {
  traits: 'all of',
  'traits-any': 'any of',
  'not-traits-any': 'none of',
  'not-traits': 'not all of',
};
const OTHERS = ['search', 'sharded', 'trait-source'];
const ALL = [...OTHERS, ...Object.keys(FIELDS), ...Object.keys(FLAGS), ...Object.keys(TRAIT_FILTERS)];

/** Return all parameters of a place: {name: [value, …]}. */
export function all(parameters) {
  return Object.fromEntries([...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]));
}

/** Return the filters in the parameters: {name: [value, …]}. */
export function filtersOf(parameters) {
  return Object.fromEntries(Object.entries(all(parameters)).filter(([name]) => ALL.includes(name)));
}

/** Return the parameters with changes, on the first page. */
export function changed(parameters, changes) {
  return { ...all(parameters), marker: '', ...changes };
}

/** Return the parameters with a trait added to a trait filter. */
export function withTrait(parameters, kind, name) {
  const values = parameters.getAll(kind);
  const names = new Set((values[0] ?? '').split(',').filter(Boolean));
  names.add(name);
  return changed(parameters, { [kind]: [[...names].join(','), ...values.slice(1)] });
}

/** Return the chips of the filters: [{kind, words, name, without: parameters}, …]. */
export function chips(parameters) {
  const result = [];
  for (const [name, values] of Object.entries(filtersOf(parameters))) {
    values.forEach((value, index) => {
      const others = values.filter((_, each) => each !== index);
      const drop = (rest) => changed(parameters, { [name]: rest ? [rest, ...others] : others });
      if (name === 'traits' || name === 'not-traits-any') {
        for (const trait of value.split(',')) {
          const rest = value.split(',').filter((each) => each !== trait).join(',');
          result.push({ name, words: name === 'traits' ? 'has' : 'lacks', text: trait, without: drop(rest) });
        }
      } else if (name in TRAIT_FILTERS) {
        result.push({ name, words: TRAIT_FILTERS[name], text: value.replaceAll(',', ', '), without: drop('') });
      } else if (name in FLAGS) {
        result.push({ name, words: '', text: FLAGS[name][value === 'true' ? 0 : 1], without: drop('') });
      } else {
        result.push({ name, words: FIELDS[name] ?? name, text: value, without: drop('') });
      }
    });
  }
  return result;
}

/** Return the options of "baremetal node list" for the filters; null if it has no option for one of them. */
export function options(filters) {
  const words = [];
  const flags = { maintenance: '--maintenance', associated: '--associated', retired: '--retired' };
  const traits = { traits: '--trait', 'traits-any': '--trait-any', 'not-traits-any': '--not-trait', 'not-traits': '--not-all-traits' };
  const direct = ['provision_state', 'resource_class', 'owner', 'lessee', 'shard', 'conductor_group', 'driver'];
  for (const [name, values] of Object.entries(filters)) {
    for (const value of values) {
      if (name in traits) words.push(traits[name], ...value.split(','));
      else if (name in flags) {
        if (value !== 'true' && name !== 'retired' && name !== 'maintenance' && name !== 'associated') return null;
        words.push(value === 'true' ? flags[name] : { maintenance: '--no-maintenance', associated: '--unassociated', retired: '--no-retired' }[name]);
      } else if (name === 'trait-source') words.push('--trait-source', value);
      else if (direct.includes(name)) words.push(name === 'shard' ? '--shards' : `--${name.replaceAll('_', '-')}`, value);
      else return null;
    }
  }
  return words;
}
