import { useEffect, useState } from 'preact/hooks';
import { useApp } from '#dashboard/client/parts/app-context.js';
import { browserClock } from '#dashboard/client/platform/browser-clock.js';
import type { Series } from '#dashboard/model/history.js';
import { amountOf, type UsageObject } from '#dashboard/model/node-fill.js';
import { type Trouble, troubleFrom } from '#dashboard/model/trouble.js';

/** The metrics API has no watch; it measures this often. */
const resolutionMs = 15_000;
/** The first measurement takes two samples. */
const firstMs = 3000;

export interface Usage {
  readonly series: Series | undefined;
  readonly trouble: Trouble | undefined;
}

/** CPU (thousandths of a core) and memory (bytes) of a node or a pod, each time that they are measured. */
export function useUsage(resource: 'nodes' | 'pods', namespace: string | undefined, name: string): Usage {
  const { requests, dialect, history } = useApp();
  const group = dialect.groupName('metrics');
  const place = namespace === undefined ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  const path = `/apis/${group}/v1beta1${place}/${resource}/${encodeURIComponent(name)}`;
  const [usage, setUsage] = useState<Usage>({ series: history.get(path), trouble: undefined });
  useEffect(() => {
    const stop = new AbortController();
    const measure = async () => {
      for (;;) {
        try {
          const measured = await requests.json<UsageObject & { readonly timestamp?: string }>(path, {
            signal: stop.signal,
          });
          const used =
            measured.usage === undefined ? (measured.containers ?? []).map((each) => each.usage) : [measured.usage];
          const sum = (key: string) => used.reduce((total, each) => total + amountOf(each[key]), 0);
          const seconds = Date.parse(measured.timestamp ?? '') / 1000;
          const series = history.add(path, seconds, [sum('cpu') * 1000, sum('memory')]);
          setUsage({ series: { ...series }, trouble: undefined });
        } catch (error) {
          if (stop.signal.aborted) return;
          setUsage({ series: history.get(path), trouble: troubleFrom(error) });
        }
        await browserClock.sleep(history.get(path) === undefined ? firstMs : resolutionMs, stop.signal);
        if (stop.signal.aborted) return;
      }
    };
    void measure();
    return () => stop.abort();
  }, [path]);
  return usage;
}
