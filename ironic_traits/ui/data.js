// Hooks that load data.
import { AGAIN } from './router.js';
import { useCallback, useEffect, useRef, useState } from './vendor/hooks.js';

/**
 * Load data whenever a key or its version changes, and when the user submits a form that leads to the present place.
 *
 * load gets an AbortSignal. Returns {data, turn, error, loading, isStale, reload}. Each reload has a higher turn, and
 * turn is that of the data. Data of the last key stay until the new data come, so that tables do not flicker; isStale
 * says so. If a reload of the same key fails, the data stay beside the error. at is the time of the data. The promise of
 * reload ends when it has succeeded or failed.
 *
 * @typedef {{data?: any, turn?: number, at?: string, error?: any, loading: boolean}} Loaded
 *
 * @param {string | null} key null loads nothing.
 * @param {(signal: AbortSignal) => Promise<any>} load
 * @param {unknown} version
 * @returns {Loaded & {isStale: boolean, reload: () => Promise<void>}}
 */
export function useData(key, load, version = null) {
  const [state, setState] = useState(/** @type {Loaded & {key?: string}} */ ({ loading: true }));
  const [turn, setTurn] = useState(0);
  const latest = useRef(0);
  const waiting = useRef(/** @type {[number, () => void][]} */ ([]));
  const settle = (/** @type {Parameters<typeof setState>[0]} */ next) => {
    setState(next);
    // A load that began before the last reload ends none of its promises.
    waiting.current.filter(([number]) => number <= turn).forEach(([, resolve]) => resolve());
    waiting.current = waiting.current.filter(([number]) => number > turn);
  };
  useEffect(() => {
    if (key === null) {
      settle({ loading: false });
      return undefined;
    }
    const abort = new AbortController();
    setState(({ data, turn: old, at, key: present }) => ({ data, turn: old, at, key: present, loading: true }));
    load(abort.signal).then(
      (data) => abort.signal.aborted || settle({ data, turn, at: new Date().toISOString(), key, loading: false }),
      (error) => abort.signal.aborted || settle((old) => ({ ...(old.key === key ? old : {}), error, loading: false })),
    );
    return () => abort.abort();
  }, [key, version, turn]);
  const reload = useCallback(() => {
    latest.current += 1;
    const number = latest.current;
    setTurn(number);
    return /** @type {Promise<void>} */ (new Promise((resolve) => waiting.current.push([number, resolve])));
  }, []);
  useEffect(() => {
    addEventListener(AGAIN, reload);
    return () => removeEventListener(AGAIN, reload);
  }, []);
  const { key: present, ...shown } = state;
  return { ...shown, isStale: state.data !== undefined && present !== key, reload };
}

/** Statuses of refusals that mean: the state is not the one that the page shows. A verb gets a 400 for that. */
const REFUSALS = [400, 404, 409];

/**
 * Run an action: returns [run, {error, running, result}, reset].
 *
 * After a refusal, onRefusal loads again what the page shows. The error stays. What an action returns after a reset,
 * or after a later run has begun, is not shown.
 *
 * @typedef {{error?: any, running?: boolean, result?: any, done?: boolean}} Run
 *
 * @param {(...values: any[]) => unknown} action
 * @param {(() => void) | null} onRefusal
 * @returns {[(...values: any[]) => Promise<any>, Run, () => void]}
 */
export function useAction(action, onRefusal = null) {
  const [state, setState] = useState(/** @type {Run} */ ({}));
  const latest = useRef(0);
  const run = async (/** @type {any[]} */ ...values) => {
    latest.current += 1;
    const number = latest.current;
    const show = (/** @type {Run} */ next) => number === latest.current && setState(next);
    show({ running: true });
    try {
      const result = await action(...values);
      show({ result, done: true });
      return result;
    } catch (error) {
      show({ error });
      if (REFUSALS.includes(error.status)) onRefusal?.();
      return undefined;
    }
  };
  const reset = () => {
    latest.current += 1;
    setState({});
  };
  return [run, state, reset];
}

/** Return {begin, cancel}: begin returns the AbortSignal of a long action. The end of the view cancels it, too. */
export function useCancel() {
  const abort = useRef(/** @type {AbortController | null} */ (null));
  const cancel = () => abort.current?.abort();
  useEffect(() => cancel, []);
  return {
    begin() {
      const begun = new AbortController();
      abort.current = begun;
      return begun.signal;
    },
    cancel,
  };
}
