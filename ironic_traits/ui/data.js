// Hooks that load data.
import { useCallback, useEffect, useState } from './vendor/hooks.js';

/**
 * Load data whenever a key changes.
 *
 * load gets an AbortSignal. Returns {data, turn, error, loading, reload}. Each reload has a higher turn, and turn is
 * that of the data. Data of the last key stay until the new data come, so that tables do not flicker.
 */
export function useData(key, load) {
  const [state, setState] = useState({ loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (key === null) {
      setState({ loading: false });
      return undefined;
    }
    const abort = new AbortController();
    setState((old) => ({ data: old.data, turn: old.turn, loading: true }));
    load(abort.signal).then(
      (data) => abort.signal.aborted || setState({ data, turn, key, loading: false }),
      (error) => abort.signal.aborted || setState({ error, key, loading: false }),
    );
    return () => abort.abort();
  }, [key, turn]);
  const reload = useCallback(() => setTurn((old) => old + 1), []);
  return { ...state, reload };
}

/** Statuses of refusals that mean: the state is not the one that the page shows. A verb gets a 400 for that. */
const REFUSALS = [400, 404, 409];

/**
 * Run an action: returns [run, {error, running, result}, reset].
 *
 * After a refusal, onRefusal loads again what the page shows. The error stays.
 */
export function useAction(action, onRefusal = null) {
  const [state, setState] = useState({});
  const run = async (...values) => {
    setState({ running: true });
    try {
      const result = await action(...values);
      setState({ result, done: true });
      return result;
    } catch (error) {
      setState({ error });
      if (REFUSALS.includes(error.status)) onRefusal?.();
      return undefined;
    }
  };
  return [run, state, () => setState({})];
}
