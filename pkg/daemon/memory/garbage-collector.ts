import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What a heap may hold for nothing: less is soon filled again. */
const worthwhileBytes = 16 * 1024 * 1024;
/** The same as a share of what lives. */
const worthwhileShare = 0.2;

/** Whether moving all objects together gives back enough to be worth the time, which is about that of collecting twice. */
export function isScattered({ used, total }: { readonly used: number; readonly total: number }): boolean {
  return total - used > Math.max(worthwhileBytes, used * worthwhileShare);
}

/** A function that collects all garbage: the runtime's own, which is there only when asked for. */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  return () => {
    collect();
    // What was only weakly held in the same turn goes with the next collection.
    setImmediate(() => {
      const { used_heap_size: used, total_physical_size: total } = getHeapStatistics();
      if (!isScattered({ used, total })) return collect();
      // Otherwise pages on which little is left stay.
      setFlagsFromString('--compact-on-every-full-gc');
      collect();
      setFlagsFromString('--no-compact-on-every-full-gc');
    });
  };
}
