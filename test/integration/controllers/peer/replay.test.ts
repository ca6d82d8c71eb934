/**
 * Our controllers produce the same objects in each situation as the controller manager of release 1.24.17, whose results
 * are in `recorded/` (`hack/record-peer.sh controllers`).
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

/** The timeout of a step, after which the rest of its situation is skipped. */
const timeoutMs = 60_000;
const pollMs = 40;
const atOnce = 60;

/** A file for the differences, if set. */
const report = process.env['DIFFERENCES'] ?? '';
/** `SITUATIONS`: prefixes of names, separated by commas. */
const prefixes = (process.env['SITUATIONS'] ?? '').split(',');

/** Events that depend on timing: missing pods, conflicts, repeated failures. */
const byChance =
  /"No matching pods found"|the object has been modified|"\(combined from similar events\): Error creating: /;
const isCompared = (event: string) => !byChance.test(event);

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

t.test('controllers handle situations like release 1.24', async (t) => {
  const recordings = await readRecordings();
  const selected = situations.filter(({ name }) => prefixes.some((prefix) => name.startsWith(prefix)));
  const chosen = selected.filter(({ name }) => recordings.has(name));
  for (const { name } of selected) if (!recordings.has(name)) t.pass(name, { skip: 'not recorded yet' });
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
    const target = expected.get(namespace)?.snapshots[index] ?? [];
    let actual: Snapshot = [];
    let seen = -1;
    for (const deadline = clock.monotonic() + timeoutMs; clock.monotonic() < deadline; await clock.sleep(pollMs)) {
      const changes = observer.changes(namespace);
      if (changes === seen) continue;
      seen = changes;
      actual = observer.snapshot(namespace);
      if (same(actual, target)) return actual;
    }
    throw new Differs(`after step ${index + 1}:\n${difference(target, actual)}`);
  };
  const compareEvents = async (namespace: string): Promise<string | undefined> => {
    const { events = [], snapshots = [] } = expected.get(namespace) ?? {};
    const target = events.filter(isCompared);
    for (const deadline = clock.monotonic() + timeoutMs; ; await clock.sleep(pollMs)) {
      const actual = observer.events(namespace).filter(isCompared);
      if (same(actual, target)) break;
      if (clock.monotonic() > deadline) return `events:\n${difference(target, actual)}`;
    }
    // The situation has not changed since.
    const [last, now] = [snapshots.at(-1) ?? [], observer.snapshot(namespace)];
    return same(last, now) ? undefined : `at the end:\n${difference(last, now)}`;
  };
  const player = new Player(client, observer, settled);
  const deliberate = new Map(differences.map((each) => [each.situation, each]));
  const waiting = [...chosen];
  const outcomes = new Map<Situation, string | undefined>();
  const work = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        await player.play(next);
        outcomes.set(next, await compareEvents(namespaceOf(next)));
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
