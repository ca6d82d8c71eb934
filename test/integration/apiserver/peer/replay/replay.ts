/**
 * Sends the recorded requests to the product and compares the answers. `SHOW=pattern` prints the differences of matching
 * files and case ids; of others only the first ones are printed.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { type Dialect, kubernetesDialect } from '#apimachinery/dialect.js';
import type { Case, CaseSet } from '#test/integration/apiserver/peer/case.js';
import { type Difference, differences } from '#test/integration/apiserver/peer/differences.js';
import { everyCaseSet } from '#test/integration/apiserver/peer/generate/every-case.js';
import { ownTarget } from '#test/integration/apiserver/peer/own-target.js';
import { recordedFolder } from '#test/integration/apiserver/peer/recorded-folder.js';
import {
  keyOf,
  parseRecording,
  type RecordedAnswer,
  type Recording,
} from '#test/integration/apiserver/peer/recording.js';
import { DeliberateDifferences } from '#test/integration/apiserver/peer/replay/deliberate-differences.js';
import { Summary } from '#test/integration/apiserver/peer/replay/summary.js';
import { translation } from '#test/integration/apiserver/peer/replay/translation.js';
import { type Answers, CaseRunner } from '#test/integration/apiserver/peer/run-cases.js';

const concurrency = 16;
const shownFailures = 20;
const timeoutMs = 1_200_000;

export interface ReplayOptions {
  readonly dialect: Dialect;
  readonly isIncluded: (file: string) => boolean;
}

/** One test per file, on one server. */
export function replay(t: Test, options: ReplayOptions): Promise<unknown> {
  t.setTimeout(timeoutMs);
  return t.test(`${options.dialect.name} dialect`, { timeout: timeoutMs }, (t) => replayAll(t, options));
}

async function replayAll(t: Test, { dialect, isIncluded }: ReplayOptions): Promise<void> {
  const target = await ownTarget(t, dialect);
  const runner = new CaseRunner(target, { dialect, clock, concurrency });
  const deliberate = new DeliberateDifferences();
  const summary = new Summary();
  const keyed = everyCaseSet(kubernetesDialect, isIncluded);
  for (const set of everyCaseSet(dialect, isIncluded)) {
    const original = dialect === kubernetesDialect ? set : (keyed.next().value as CaseSet);
    const file = new FileReplay(set, original, { dialect, deliberate, summary });
    await runner.run(set, (given, answers) => file.take(given, answers));
    file.check(t, set.cases.length);
  }
  for (const line of summary.lines()) t.comment(line);
}

interface Context {
  readonly dialect: Dialect;
  readonly deliberate: DeliberateDifferences;
  readonly summary: Summary;
}

class FileReplay {
  readonly failures: string[] = [];
  unrecorded = 0;
  readonly #context: Context;
  readonly #file: string;
  readonly #recording: Recording;
  readonly #keys: ReadonlyMap<string, string>;
  readonly #translate: ((text: string) => string) | undefined;
  readonly #show: RegExp | undefined;

  constructor(set: CaseSet, original: CaseSet, context: Context) {
    this.#context = context;
    this.#file = set.file;
    const path = join(recordedFolder, `${set.file}.txt.gz`);
    this.#recording = existsSync(path) ? parseRecording(gunzipSync(readFileSync(path)).toString()) : new Map();
    this.#keys = new Map(original.cases.map((given) => [given.id, keyOf(given)]));
    this.#translate = context.dialect === kubernetesDialect ? undefined : translation(context.dialect);
    const show = process.env['SHOW'] ?? '';
    this.#show = show === '' ? undefined : new RegExp(show);
  }

  /** Fails for each difference that is not deliberate. */
  check(t: Test, cases: number): void {
    if (this.unrecorded > 0) t.comment(`${this.#file}: ${this.unrecorded} of ${cases} cases were not recorded`);
    const { failures } = this;
    const more = failures.length > shownFailures ? [`and ${failures.length - shownFailures} more`] : [];
    for (const line of [...failures.slice(0, shownFailures), ...more].join('\n').split('\n')) t.comment(line);
    t.equal(failures.length, 0, `${this.#file}: answers that differ, and not deliberately`);
  }

  take(given: Case, answers: Answers): void {
    const key = this.#keys.get(given.id) ?? '';
    const recorded = this.#recording.get(key);
    if (recorded === undefined) this.unrecorded++;
    else for (const [i, answer] of recorded.entries()) this.#compare(given, i, { answer, actual: answers[i] });
  }

  #compare(
    given: Case,
    i: number,
    { answer, actual }: { answer: RecordedAnswer; actual: Answers[number] | undefined },
  ): void {
    const { deliberate, summary, dialect } = this.#context;
    const name = `${dialect === kubernetesDialect ? '' : `${dialect.name} `}${this.#file} ${given.id}`;
    const { sharedWithServer } = given;
    const all = differences(answer, actual, { translate: this.#translate, sharedWithServer });
    const text = all.length === 0 ? '' : JSON.stringify(answer.kept);
    const open = all.filter(({ kind }) => !deliberate.includes(name, kind, text));
    summary.count(this.#file, { answer, all, open });
    if (open.length === 0) return;
    this.failures.push(described(name, given, i, open));
    if (this.#show?.test(name) === true) console.log(described(name, given, i, open));
  }
}

function described(name: string, { steps }: Case, i: number, all: readonly Difference[]): string {
  const sent = steps.slice(0, i + 1).map(({ method, path, contentType = '', body = '' }) => {
    const text = typeof body === 'string' ? body.slice(0, 2000) : `${body.length} bytes`;
    return `  ${method} ${path} ${contentType} ${text}`;
  });
  const lines = all.map(
    ({ kind, expected, actual }) =>
      `  ${kind}: peer ${JSON.stringify(expected)}\n  ${kind}: own  ${JSON.stringify(actual)}`,
  );
  return [`${name}, request ${i}`, ...sent, ...lines].join('\n');
}
