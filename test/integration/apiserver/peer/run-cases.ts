/** Sends the requests of cases to a server and reads its answers. */
import { schemeFor } from '#api/scheme.js';
import type { Clock } from '#apimachinery/clock.js';
import { ObjectCodec } from '#apimachinery/codec/object-codec.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { type ReadAnswer, readAnswer, type WireAnswer } from '#test/integration/apiserver/peer/answers.js';
import type { Case, CaseSet, Step } from '#test/integration/apiserver/peer/case.js';

export interface Target {
  /** `path` with its query. */
  send(step: Step): Promise<WireAnswer>;
}

export type Answers = readonly Omit<ReadAnswer, 'object'>[];

const conflictTries = 8;
const findTries = 300;
const findPauseMs = 100;

export class CaseRunner {
  readonly #target: Target;
  readonly #clock: Clock;
  readonly #codec: ObjectCodec;
  readonly #concurrency: number;

  constructor(
    target: Target,
    { dialect, clock, concurrency }: { dialect: Dialect; clock: Clock; concurrency: number },
  ) {
    this.#target = target;
    this.#clock = clock;
    this.#codec = new ObjectCodec(schemeFor(dialect));
    this.#concurrency = concurrency;
  }

  /** Runs independent cases concurrently. `take` receives each case's answers, in any order. */
  async run(set: CaseSet, take: (given: Case, answers: Answers) => void): Promise<void> {
    for (const step of set.steps) await this.#prepare(step);
    const alone = set.cases.filter(({ cleanup }) => cleanup !== undefined);
    const together = set.cases.filter(({ cleanup }) => cleanup === undefined)[Symbol.iterator]();
    const worker = async () => {
      for (const given of together) take(given, await this.#runCase(given));
    };
    await Promise.all(Array.from({ length: this.#concurrency }, worker));
    for (const given of alone) {
      take(given, await this.#runCase(given));
      for (const step of given.cleanup ?? []) await this.#target.send(step);
    }
  }

  async #prepare(step: Step): Promise<void> {
    for (let tries = 0; ; tries++) {
      const { status, body } = await this.#target.send(step);
      if (status < 300 || status === 409) return;
      if (status !== 404 || step.untilFound === undefined || tries === findTries) {
        throw new Error(`${step.method} ${step.path}: ${status} ${body.toString()}`);
      }
      await this.#clock.sleep(findPauseMs);
    }
  }

  async #runCase(given: Case): Promise<Answers> {
    const sent = given.steps.map(({ path, body }) => `${path} ${bodyText(body)}`).join('\n');
    const answers: Omit<ReadAnswer, 'object'>[] = [];
    let last: Record<string, unknown> | undefined;
    for (const step of given.steps) {
      const answer = await this.#send(given, step, last);
      const requestData = { name: given.name, sent, now: this.#clock.now() };
      const isWhole = step.method === 'POST' || step.method === 'PUT';
      const base = isWhole || last === undefined ? parsedBody(step) : last;
      const { object, ...read } = readAnswer(answer, step, base, requestData, this.#codec);
      if (object !== undefined && !('items' in object)) last = object;
      answers.push(read);
    }
    return answers;
  }

  async #send(given: Case, step: Step, last: unknown): Promise<WireAnswer> {
    let current = last;
    for (let tries = 0; ; tries++) {
      const answer = await this.#target.send(filledIn(step, current));
      const isStale = answer.status === 409 && given.sharedWithServer === true && usesVersion(step);
      if (!isStale || tries === conflictTries) return answer;
      const newest = await this.#target.send({
        method: 'GET',
        path: (step.path.split('?')[0] ?? '').replace(/\/status$/, ''),
      });
      current = JSON.parse(newest.body.toString());
    }
  }
}

function usesVersion({ body }: Step): boolean {
  return bodyText(body).includes('"$rv"');
}

function bodyText(body: Step['body']): string {
  return typeof body === 'string' ? body : '';
}

function parsedBody({ body }: Step): unknown {
  try {
    return JSON.parse(bodyText(body));
  } catch {
    // A value that equals no answer.
    return undefined;
  }
}

function filledIn(step: Step, last: unknown): Step {
  if (typeof step.body !== 'string' || !step.body.includes('"$')) return step;
  const { metadata } = (last ?? {}) as { metadata?: { resourceVersion?: string; uid?: string } };
  const body = step.body
    .replaceAll('"$rv"', JSON.stringify(metadata?.resourceVersion ?? '1'))
    .replaceAll('"$uid"', JSON.stringify(metadata?.uid ?? 'x'));
  return { ...step, body };
}
