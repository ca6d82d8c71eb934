/** Whether a Prometheus has data for the panels of dashboards. */
import { realClock } from '#apimachinery/clock.js';
import type { Client } from '#client/client.js';
import type { Answers } from '#test/e2e/alerts/answers.js';
import { eventually } from '#test/e2e/harness.js';
import { type BusyOptions, createPod } from '#test/e2e/observing/busy.js';

interface Panels {
  readonly uid: string;
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** Queries of all dashboards, given as Grafana's JSON, with values for their variables, by where they are. */
export function dashboardQueries(texts: readonly string[], cluster: string): Map<string, string> {
  const queries = new Map<string, string>();
  for (const text of texts) {
    const { uid, panels } = JSON.parse(text) as Panels;
    for (const { title, targets = [] } of panels) {
      for (const { expr } of targets) {
        const query = expr
          .replaceAll('$__rate_interval', '2m')
          .replaceAll('$cluster', cluster)
          .replaceAll(/\$\w+/g, '.*');
        queries.set(`${uid}: ${title}: ${query}`, query);
      }
    }
  }
  return queries;
}

export interface AnsweredOptions extends BusyOptions {
  readonly answers: Answers;
  readonly client: Client;
}

/** Waits until each query has had data once; makes pods meanwhile. Throws with those that have none. */
export async function untilAnswered(queries: ReadonlyMap<string, string>, options: AnsweredOptions): Promise<void> {
  const { answers, client, namespace, image } = options;
  const missing = new Map(queries);
  let passes = 0;
  await eventually('all queries answer', async () => {
    // A rate needs events after the first sample of a series.
    await createPod(client, `more-${passes++}`, { namespace, image });
    await realClock.sleep(1000);
    for (const [place, query] of missing) {
      const series = await answers.query(query);
      if (series.some(({ value: [, value] }) => value !== 'NaN')) missing.delete(place);
    }
    if (missing.size > 0) throw new Error([...missing.keys()].join('\n'));
    return true;
  });
}
