import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A function that collects all garbage: the runtime's own, which is there only when asked for. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    // What was only weakly held in the same turn goes with the next collection.
    setImmediate(collect);
  };
}
