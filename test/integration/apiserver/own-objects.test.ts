/**
 * Whatever may change an object gets one of its own: it may write into every part, the first, the second and the tenth time
 * that the same comes, and changes nothing of what others see.
 */
import t, { type Test } from 'tap';
import { strategyFor } from '#api/strategies.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { ApiServerDependencies } from '#apiserver/apiserver.js';
import { everyCase, gateFor } from '#test/integration/apiserver/resources/every-case.js';
import { Repetition, sameJSON } from '#test/integration/apiserver/resources/repetition.js';
import { scribbling, scribblingHook, scribblingPlugin } from '#test/integration/apiserver/scribblers.js';
import { startServer } from '#test/integration/apiserver/server.js';

/** Large enough to be kept by all that keeps what comes again, and not too large for any. */
const bytes = 1500;
/** In JSON, and as many in Protobuf: in each of them the same spec comes more than ten times. */
const lives = 2;
/** What cannot be changed fails the first time. */
const livesFrozen = 1;

interface Scribblers {
  readonly dependencies: Partial<ApiServerDependencies>;
  /** Whether what caches give out can be changed, as outside of tests. */
  readonly unfrozen: boolean;
}

async function everyKind(t: Test, { dependencies, unfrozen }: Scribblers): Promise<void> {
  const gate = gateFor(everyCase);
  const server = await startServer(t, { unfrozen, dependencies: { gate, ...dependencies } });
  for (const given of everyCase) {
    const { resource, version } = given.resource;
    await t.test(`${resource} ${version}`, { timeout: 120_000 }, async (t) => {
      const repetition = new Repetition(t, { server, dialect, given, bytes });
      for (const media of ['json', 'protobuf'] as const) {
        let first: string | undefined;
        for (let life = 0; life < (unfrozen ? lives : livesFrozen); life++) {
          await repetition.rehearse(media);
          const lived = await repetition.life(media, () => repetition.rehearse(media));
          first ??= lived;
          sameJSON(t, lived, first, `life ${life}`);
        }
      }
    });
  }
}

for (const unfrozen of [false, true]) {
  const caches = unfrozen ? 'caches as they are' : 'caches that cannot be changed';
  t.test(`strategies and plugins, ${caches}`, { timeout: 600_000 }, (t) => {
    const dependencies = {
      strategyFor: (resource: Parameters<typeof strategyFor>[0]) => scribbling(strategyFor(resource)),
      admission: [scribblingPlugin],
    };
    return everyKind(t, { dependencies, unfrozen });
  });
  t.test(`hooks, ${caches}`, { timeout: 600_000 }, (t) =>
    everyKind(t, { dependencies: { hooks: [scribblingHook] }, unfrozen }),
  );
}
