/**
 * The peer's recorded answers, one file per resource: first each distinct answer once, as a line of JSON after `=`; then a
 * line per case with its key and the numbers of its answers, each with a hash of managed fields if there are any. `~` marks
 * an answer that differed between two recordings: only its code and reason count.
 */
import type { KeptAnswer } from '#test/integration/apiserver/peer/answers.js';
import type { Case } from '#test/integration/apiserver/peer/case.js';
import { shortHash } from '#test/integration/apiserver/peer/generate/hash.js';
import type { Answers } from '#test/integration/apiserver/peer/run-cases.js';

export interface RecordedAnswer {
  readonly kept: KeptAnswer;
  readonly managers: string;
  readonly stable: boolean;
}

/** By key of the case. */
export type Recording = ReadonlyMap<string, readonly RecordedAnswer[]>;

/** Hash of the case and all that it sends. */
export function keyOf({ file, id, steps }: Case): string {
  const sent = steps.map(({ method, path, contentType, accept, body = '' }) =>
    [method, path, contentType, accept, body.toString('latin1')].join(' '),
  );
  return shortHash([file, id, ...sent].join('\n')).slice(0, 10);
}

export function formatRecording(recording: Recording): string {
  const numbers = new Map<string, number>();
  const lines: string[] = [];
  for (const [key, answers] of [...recording].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const entries = answers.map(({ kept, managers, stable }) => {
      const text = JSON.stringify(kept);
      const number = numbers.get(text) ?? numbers.size;
      numbers.set(text, number);
      return `${stable ? '' : '~'}${number}${managers === '' ? '' : `/${managers}`}`;
    });
    lines.push([key, ...entries].join(' '));
  }
  return [...[...numbers.keys()].map((text) => `=${text}`), ...lines, ''].join('\n');
}

/** Throws a SyntaxError for a malformed recording. */
export function parseRecording(text: string): Recording {
  const table: KeptAnswer[] = [];
  const recording = new Map<string, RecordedAnswer[]>();
  for (const line of text.split('\n')) {
    if (line.startsWith('=')) table.push(JSON.parse(line.slice(1)) as KeptAnswer);
    else if (line !== '') {
      const [key = '', ...entries] = line.split(' ');
      recording.set(
        key,
        entries.map((entry) => parseEntry(entry, table)),
      );
    }
  }
  return recording;
}

function parseEntry(entry: string, table: readonly KeptAnswer[]): RecordedAnswer {
  const [, mark, number = '', managers = ''] = /^(~?)(\d+)(?:\/(\w+))?$/.exec(entry) ?? [];
  const kept = table[Number(number)];
  if (kept === undefined || number === '') throw new SyntaxError(`no answer of number ${entry}`);
  return { kept, managers, stable: mark === '' };
}

/** Combines several runs of the same cases; the first one counts. */
export function combined(runs: readonly ReadonlyMap<string, Answers>[]): Recording {
  const [first = new Map<string, Answers>(), ...others] = runs;
  return new Map(
    [...first].map(([key, answers]) => [
      key,
      answers.map((answer, i) => ({
        ...answer,
        stable: others.every((other) => JSON.stringify(other.get(key)?.[i]) === JSON.stringify(answer)),
      })),
    ]),
  );
}
