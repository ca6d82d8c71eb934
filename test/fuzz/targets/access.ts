/** Who may do what at the API server. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzAccess } from '#test/fuzz/access/access.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const access: FuzzTarget = {
  name: 'access',
  maxHeapMiB: 1024,
  async run({ seed, milliseconds, onInput }) {
    let end: number | undefined;
    const goOn = () => {
      // From the first request on: the server has to start before it.
      end ??= realClock.monotonic() + milliseconds;
      return realClock.monotonic() < end;
    };
    const { requests, statuses, problems, ...seen } = await fuzzAccess({ seed, goOn, onRequest: onInput });
    const { markersShown, changes, agentHits } = seen;
    const answers = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status}: ${count}`);
    const summary = `${requests} requests (${answers.join(', ')}), ${markersShown} objects shown, ${changes} changed, ${agentHits} agents reached`;
    return { summary, problems };
  },
};
