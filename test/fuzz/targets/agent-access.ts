/** Who may do what at a node's agent. */
import { realClock } from '#apimachinery/clock.js';
import { fuzzAgentAccess } from '#test/fuzz/agent-access.js';
import type { FuzzTarget } from '#test/fuzz/target.js';

export const agentAccess: FuzzTarget = {
  name: 'agent-access',
  maxHeapMiB: 1024,
  async run({ seed, milliseconds, onInput }) {
    const end = realClock.monotonic() + milliseconds;
    const { answers, problems } = await fuzzAgentAccess(seed, (sent) => {
      onInput(sent);
      return realClock.monotonic() < end;
    });
    return {
      summary: `answers ${JSON.stringify([...answers])}`,
      problems: problems.map((each) => JSON.stringify(each)),
    };
  },
};
