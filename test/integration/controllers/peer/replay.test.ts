/**
 * Our controllers make of each situation what the controller manager of release 1.24.17 has made of it, which is in
 * `recorded/` (`hack/record-peer.sh controllers`).
 */
import { setMaxListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import t from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { differences } from '#test/integration/controllers/peer/differences.js';
import { startNodes } from '#test/integration/controllers/peer/nodes.js';
import { Observer, type Snapshot } from '#test/integration/controllers/peer/observer.js';
import { startOwnManager } from '#test/integration/controllers/peer/own-manager.js';
import { Player } from '#test/integration/controllers/peer/player.js';
import { readRecordings } from '#test/integration/controllers/peer/recording.js';
import { namespaceOf, type Situation } from '#test/integration/controllers/peer/situation.js';
import { situations } from '#test/integration/controllers/peer/situations.js';

t.setTimeout(600_000);

/** How long a step may take to look as it is to; the rest of its situation is not played after that. */
const patienceMs = 60_000;
const pollMs = 40;
const atOnce = 60;

/** Gets the differences, too, where it is named. */
const report = process.env['DIFFERENCES'] ?? '';
/** `SITUATIONS`: beginnings of names, separated by commas. */
const prefixes = (process.env['SITUATIONS'] ?? '').split(',');

/** Events that come or not with the speed of either side: of pods that are not there yet, of conflicts, of repeated failures. */
const byChance =
  /"No matching pods found"|the object has been modified|"\(combined from similar events\): Error creating: /;
const isTold = (event: string) => !byChance.test(event);

class Differs extends Error {
  override readonly name = 'Differs';
}

function difference(expected: Snapshot, actual: Snapshot): string {
  const left = [...expected];
  const right: string[] = [];
  for (const text of actual) {
    const index = left.indexOf(text);
    if (index < 0) right.push(text);
    else left.splice(index, 1);
  }
  return [...left.map((text) => `  1.24: ${text}`), ...right.map((text) => `  ours: ${text}`)].join('\n');
}

t.test('what controllers make of situations', async (t) => {
  const recordings = await readRecordings();
  const asked = situations.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
  const chosen = asked.filter(({ name }) => recordings.has(name));
  for (const { name } of asked) if (!recordings.has(name)) t.pass(name, { skip: 'not recorded yet' });
  const client = await startOwnManager(t);
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  const nodesEnd = await startNodes(client, stop.signal);
  const observer = new Observer(client);
  await observer.start();
  t.teardown(async () => {
    stop.abort();
    await nodesEnd();
    await observer.stop();
  });
  const expected = new Map(chosen.map((situation) => [namespaceOf(situation), recordings.get(situation.name)]));
  const same = (left: Snapshot, right: Snapshot) =>
    left.length === right.length && left.every((text, i) => text === right[i]);
  const settled = async (namespace: string, index: number): Promise<Snapshot> => {
    const wanted = expected.get(namespace)?.snapshots[index] ?? [];
    let actual: Snapshot = [];
    let seen = -1;
    for (const deadline = clock.monotonic() + patienceMs; clock.monotonic() < deadline; await clock.sleep(pollMs)) {
      const changes = observer.changes(namespace);
      if (changes === seen) continue;
      seen = changes;
      actual = observer.snapshot(namespace);
      if (same(actual, wanted)) return actual;
    }
    throw new Differs(`after step ${index + 1}:\n${difference(wanted, actual)}`);
  };
  const toldEvents = async (namespace: string): Promise<string | undefined> => {
    const { events = [], snapshots = [] } = expected.get(namespace) ?? {};
    const wanted = events.filter(isTold);
    for (const deadline = clock.monotonic() + patienceMs; ; await clock.sleep(pollMs)) {
      const told = observer.events(namespace).filter(isTold);
      if (same(told, wanted)) break;
      if (clock.monotonic() > deadline) return `events:\n${difference(wanted, told)}`;
    }
    // It has not gone on since.
    const [last, now] = [snapshots.at(-1) ?? [], observer.snapshot(namespace)];
    return same(last, now) ? undefined : `in the end:\n${difference(last, now)}`;
  };
  const player = new Player(client, observer, settled);
  const deliberate = new Map(differences.map((each) => [each.situation, each]));
  const waiting = [...chosen];
  const outcomes = new Map<Situation, string | undefined>();
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        await player.play(next);
        outcomes.set(next, await toldEvents(namespaceOf(next)));
      } catch (error) {
        outcomes.set(next, error instanceof Differs ? error.message : String(error));
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  if (report !== '') {
    const lines = [...outcomes].flatMap(([{ name }, problem]) =>
      problem === undefined ? [] : [`${name}: ${problem}\n`],
    );
    await writeFile(report, lines.join('\n'));
  }
  for (const [{ name }, problem] of outcomes) {
    const listed = deliberate.get(name);
    if (listed === undefined) t.equal(problem, undefined, name);
    else if (problem === undefined && listed.isChance !== true)
      t.fail(`${name} is listed as a difference, but is none`);
    else t.pass(`${name}: ${listed.reason}`);
  }
});
