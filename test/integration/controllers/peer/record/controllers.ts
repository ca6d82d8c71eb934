/**
 * Plays all situations with another implementation's controller manager (PEER_CONTROLLER_MANAGER) against our API server,
 * and records the results. Arguments: prefixes of situation names; by default all.
 */
import { realClock as clock } from '#apimachinery/clock.js';
import { managerSettings } from '#test/integration/controllers/peer/manager-settings.js';
import { startNodes } from '#test/integration/controllers/peer/nodes.js';
import { Observer, type Snapshot } from '#test/integration/controllers/peer/observer.js';
import { Player } from '#test/integration/controllers/peer/player.js';
import { readRecordings, writeRecordings } from '#test/integration/controllers/peer/recording.js';
import { namespaceOf, type Situation } from '#test/integration/controllers/peer/situation.js';
import { situations } from '#test/integration/controllers/peer/situations.js';
import { own, peer, startApiServer } from '#test/integration/peers/implementations.js';

/** A step is over after this time without changes. */
const quietMs = 4000;
/** Events arrive late; they are read after this time without changes. */
const finalQuietMs = 15_000;
/** The maximum wait for a controller to observe an object. */
const unattendedMs = 40_000;
const atOnce = 40;

const command = peer('PEER_CONTROLLER_MANAGER');
if (command === undefined) throw new Error('PEER_CONTROLLER_MANAGER is not set');
const prefixes = process.argv.slice(2);
const chosen = situations.filter(({ name }) => prefixes.length === 0 || prefixes.some((each) => name.startsWith(each)));

const endings: (() => unknown)[] = [];
const lifetime = { teardown: (end: () => unknown) => void endings.unshift(end) };
const stop = new AbortController();
try {
  const { client, startManager } = await startApiServer(lifetime as never, own('orch-apiserver'));
  const nodesEnd = await startNodes(client, stop.signal);
  startManager(command, ...managerSettings);
  const observer = new Observer(client);
  await observer.start();
  const settled = async (namespace: string): Promise<Snapshot> => {
    const begin = clock.monotonic();
    for (;;) {
      await clock.sleep(100);
      const elapsedMs = clock.monotonic() - begin;
      const isQuiet = observer.quietMs(namespace) >= quietMs && elapsedMs >= quietMs;
      if (isQuiet && (observer.isAttended(namespace) || elapsedMs >= unattendedMs)) break;
    }
    return observer.snapshot(namespace);
  };
  const player = new Player(client, observer, settled);
  const recordings = new Map(await readRecordings());
  const names = new Set(situations.map(({ name }) => name));
  for (const name of recordings.keys()) if (!names.has(name)) recordings.delete(name);
  const waiting = [...chosen];
  const played = new Map<Situation, Snapshot[]>();
  let failures = 0;
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        played.set(next, await player.play(next));
      } catch (error) {
        failures += 1;
        process.stderr.write(`${namespaceOf(next)}: ${String(error)}\n`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  while (chosen.some((each) => observer.quietMs(namespaceOf(each)) < finalQuietMs)) await clock.sleep(500);
  // Delayed actions of controllers are part of the result.
  for (const [each, snapshots] of played)
    recordings.set(each.name, {
      snapshots: [...snapshots.slice(0, -1), observer.snapshot(namespaceOf(each))],
      events: observer.events(namespaceOf(each)),
    });
  await writeRecordings(recordings);
  process.stdout.write(`${chosen.length} situations, ${failures} could not be played\n`);
  process.exitCode = failures === 0 ? 0 : 1;
  stop.abort();
  await nodesEnd();
  await observer.stop();
} finally {
  stop.abort();
  for (const end of endings) await end();
}
