/**
 * Objects in other versions of their kind. Most are converted in the process; where somebody outside of it has to be asked,
 * the steps that need them stop with a question, and go on with the answer.
 */
import type { JsonObject } from '#apimachinery/apply/structure.js';
import type { MaybePromise, Pause } from '#apimachinery/async/steps.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The versions of a kind. */
export interface OtherVersions {
  /** The type of the kind in that version; undefined when it has no such version. */
  typeOf(apiVersion: string): TypeInfo | undefined;
  /** Objects as that version has them; each says its own in `apiVersion`. Changes none. Absent: somebody is asked. */
  readonly convert?: (objects: readonly JsonObject[], apiVersion: string) => readonly JsonObject[];
}

/** Asks for objects as the version has them. One question is one call, so all that is needed at a time is in it. */
export interface ConversionQuestion {
  readonly objects: readonly JsonObject[];
  readonly apiVersion: string;
}

/** As many objects as were asked about, in their order; undefined: they cannot be had. */
export type ConversionAnswer = readonly JsonObject[] | undefined;

/** Steps between which there may be questions as well as pauses. */
export type Converting<T> = Generator<ConversionQuestion | undefined, T, ConversionAnswer>;

/** The objects in the version; undefined where the answer was. */
export function* inVersion(
  versions: OtherVersions,
  objects: readonly JsonObject[],
  apiVersion: string,
): Converting<ConversionAnswer> {
  if (objects.every((object) => object.apiVersion === apiVersion)) return objects;
  if (versions.convert !== undefined) return versions.convert(objects, apiVersion);
  const answer = yield { objects, apiVersion };
  if (answer !== undefined && answer.length !== objects.length) {
    throw new RangeError(`conversion: ${answer.length} objects for ${objects.length}`);
  }
  return answer;
}

/** Runs steps to their end that have no questions. */
export function withoutQuestions<T>(steps: Converting<T>): T {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (step.value !== undefined) throw new RangeError(`nobody is there to convert to ${step.value.apiVersion}`);
  }
}

export interface Conversions {
  /** Comes between the steps. */
  readonly pause: Pause;
  /** Its rejection ends the steps, and is what the run rejects with. */
  readonly ask: (question: ConversionQuestion) => Promise<ConversionAnswer>;
}

/** Runs steps to their end: at once, as long as nothing has to be waited for. */
export function withQuestions<T>(steps: Converting<T>, conversions: Conversions): MaybePromise<T> {
  for (let step = steps.next(undefined); ; step = steps.next(undefined)) {
    if (step.done === true) return step.value;
    const waiting = waitingFor(step.value, conversions);
    if (waiting !== undefined) return restOf(steps, conversions, waiting);
  }
}

async function restOf<T>(steps: Converting<T>, conversions: Conversions, first: Promise<ConversionAnswer>): Promise<T> {
  let answer = await first;
  for (;;) {
    const step = steps.next(answer);
    if (step.done === true) return step.value;
    answer = await waitingFor(step.value, conversions);
  }
}

function waitingFor(
  question: ConversionQuestion | undefined,
  { pause, ask }: Conversions,
): Promise<ConversionAnswer> | undefined {
  return question === undefined ? pause()?.then(() => undefined) : ask(question);
}
