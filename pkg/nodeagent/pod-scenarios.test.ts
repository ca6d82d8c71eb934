/** Pod scenarios on the simulated runtime; with real containers they run in `pod-scenarios.containerd.test.ts`. */
import t from 'tap';
import { podScenarios } from '#nodeagent/testing/pod-scenarios.js';
import { runScenarios, scenarioArguments, World } from '#nodeagent/testing/scenarios.js';
import { virtualAgent } from '#nodeagent/testing/virtual-agent.js';

t.test('pod scenarios on the simulated runtime', async (t) => {
  const { api, runtime, clock } = await virtualAgent(t, { args: [...scenarioArguments] });
  /** Waits for an hour of virtual time at most. */
  const until = async (condition: () => boolean | Promise<boolean>, what: string) => {
    for (let i = 0; i < 36_000; i++) {
      if (await condition()) return;
      await clock.advance(100);
    }
    throw new Error(`${what}: did not come true`);
  };
  const world = new World({ api, cri: runtime, image: 'docker.io/test/app:1.0', until });
  await runScenarios(t, podScenarios, { world, together: false });
});
