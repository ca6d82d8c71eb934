/**
 * Conversion of objects between versions of their kind. Most conversions run in this process; where a webhook must
 * convert, the steps yield a question and continue with its answer.
 */
import type { JsonObject } from '#apimachinery/apply/structure.js';
import type { MaybePromise, Pause } from '#apimachinery/async/steps.js';
import type { TypeInfo } from '#apimachinery/schema/type-info.js';

/** The versions of a kind. */
export interface OtherVersions {
  /** The type of the kind in that version; undefined if the version does not exist. */
  typeOf(apiVersion: string): TypeInfo | undefined;
  /**
   * Converts objects to that version without modifying them; each object names its current version in `apiVersion`.
   * Absent: conversion needs a question.
   */
  readonly convert?: (objects: readonly JsonObject[], apiVersion: string) => readonly JsonObject[];
}

/** A request to convert objects. One question is one webhook call, so it holds all objects needed at that point. */
export interface ConversionQuestion {
  readonly objects: readonly JsonObject[];
  readonly apiVersion: string;
}

/** The converted objects in the same order; undefined if conversion is impossible. */
export type ConversionAnswer = readonly JsonObject[] | undefined;

/** Steps that yield questions as well as pauses. */
export type Converting<T> = Generator<ConversionQuestion | undefined, T, ConversionAnswer>;

/** The objects in the version; undefined if the answer was. */
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

/** Runs steps that never ask a question. */
export function withoutQuestions<T>(steps: Converting<T>): T {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value;
    if (step.value !== undefined) throw new RangeError(`no converter for version ${step.value.apiVersion}`);
  }
}

export interface Conversions {
  /** Runs between the steps. */
  readonly pause: Pause;
  /** A rejection ends the steps and becomes the rejection of the run. */
  readonly ask: (question: ConversionQuestion) => Promise<ConversionAnswer>;
}

/** Runs steps to their end; synchronously while no promise is involved. */
export function withQuestions<T>(steps: Converting<T>, conversions: Conversions): MaybePromise<T> {
  for (let step = steps.next(undefined); ; step = steps.next(undefined)) {
    if (step.done === true) return step.value;
    const waiting = answerTo(step.value, conversions);
    if (waiting !== undefined) return runRemaining(steps, conversions, waiting);
  }
}

async function runRemaining<T>(
  steps: Converting<T>,
  conversions: Conversions,
  first: Promise<ConversionAnswer>,
): Promise<T> {
  let answer = await first;
  for (;;) {
    const step = steps.next(answer);
    if (step.done === true) return step.value;
    answer = await answerTo(step.value, conversions);
  }
}

function answerTo(
  question: ConversionQuestion | undefined,
  { pause, ask }: Conversions,
): Promise<ConversionAnswer> | undefined {
  return question === undefined ? pause()?.then(() => undefined) : ask(question);
}
