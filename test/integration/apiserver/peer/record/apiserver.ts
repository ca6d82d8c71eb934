/**
 * Records the answers of another implementation's API server (PEER_APISERVER) to all cases. Arguments: files to record, such
 * as `core.v1.pods` (default: all).
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { everyCaseSet } from '#test/integration/apiserver/peer/generate/every-case.js';
import { peerTarget } from '#test/integration/apiserver/peer/record/peer-target.js';
import { recordedFolder } from '#test/integration/apiserver/peer/recorded-folder.js';
import { combined, formatRecording, keyOf } from '#test/integration/apiserver/peer/recording.js';
import { type Answers, CaseRunner } from '#test/integration/apiserver/peer/run-cases.js';

const concurrency = 12;
/** Each run has its own server, which reveals accidental differences. */
const runs = 2;

const program = process.env['PEER_APISERVER'] ?? '';
if (program === '') throw new Error('PEER_APISERVER must name the program to record');
const files = process.argv.slice(2);
const folder = recordedFolder;
mkdirSync(folder, { recursive: true });

const all = await Promise.all(Array.from({ length: runs }, () => record()));
for (const file of all[0]?.keys() ?? []) {
  const recording = combined(all.map((run) => run.get(file) ?? new Map<string, Answers>()));
  writeFileSync(join(folder, `${file}.txt.gz`), gzipSync(formatRecording(recording), { level: 9 }));
}

async function record(): Promise<Map<string, Map<string, Answers>>> {
  const ends: (() => unknown)[] = [];
  const lifetime = { teardown: (end: () => unknown) => void ends.unshift(end) };
  try {
    const target = await peerTarget(lifetime, program);
    const runner = new CaseRunner(target, { dialect, clock, concurrency });
    const recorded = new Map<string, Map<string, Answers>>();
    for (const set of everyCaseSet(dialect)) {
      if (files.length > 0 && !files.includes(set.file)) continue;
      const answers = new Map<string, Answers>();
      recorded.set(set.file, answers);
      const start = clock.monotonic();
      await runner.run(set, (given, read) => answers.set(keyOf(given), read));
      console.log(`${set.file}: ${set.cases.length} cases in ${Math.round(clock.monotonic() - start)} ms`);
    }
    return recorded;
  } finally {
    for (const end of ends) await end();
  }
}
