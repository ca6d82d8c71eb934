/** Recorded results of another controller manager: one JSON line per situation, one file per topic. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Snapshot } from '#test/integration/controllers/peer/observer.js';
import { formatted } from '#test/integration/controllers/peer/sorted-json.js';

/** Beside the sources. */
const folder = fileURLToPath(new URL('../../../../../test/integration/controllers/peer/recorded/', import.meta.url));

interface Line {
  readonly name: string;
  /** Each different object once. */
  readonly objects: readonly unknown[];
  /** The indexes of existing objects after each step. */
  readonly steps: readonly (readonly number[])[];
  readonly events: readonly unknown[];
}

export interface Recording {
  /** After each step. */
  readonly snapshots: readonly Snapshot[];
  /** At the end. */
  readonly events: Snapshot;
}

const topicOf = (name: string) => name.split('/')[0] ?? '';

/** By situation name. */
export type Recordings = ReadonlyMap<string, Recording>;

export async function readRecordings(): Promise<Recordings> {
  const recordings = new Map<string, Recording>();
  for (const file of await readdir(folder)) {
    if (!file.endsWith('.jsonl')) continue;
    for (const text of (await readFile(join(folder, file), 'utf8')).split('\n')) {
      if (text === '') continue;
      const { name, objects, steps, events } = JSON.parse(text) as Line;
      const texts = objects.map(formatted);
      recordings.set(name, {
        snapshots: steps.map((step) => step.map((index) => texts[index] ?? '').sort()),
        events: events.map(formatted).sort(),
      });
    }
  }
  return recordings;
}

/** Replaces the files of the topics of these situations. */
export async function writeRecordings(recordings: Recordings): Promise<void> {
  const files = new Map<string, string[]>();
  for (const [name, { snapshots, events }] of [...recordings].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const texts = [...new Set(snapshots.flat())];
    const positions = new Map(texts.map((text, index) => [text, index]));
    const steps = snapshots.map((snapshot) => snapshot.map((text) => positions.get(text) ?? 0));
    const parsed = (list: readonly string[]) => list.map((text) => JSON.parse(text) as unknown);
    const line = JSON.stringify({ name, objects: parsed(texts), steps, events: parsed(events) });
    const topic = topicOf(name);
    files.set(topic, [...(files.get(topic) ?? []), line]);
  }
  for (const [topic, lines] of files) await writeFile(join(folder, `${topic}.jsonl`), `${lines.join('\n')}\n`);
}
