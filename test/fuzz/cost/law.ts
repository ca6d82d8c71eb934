/**
 * The law of cost: doubling any part of a request at most doubles its cost; its response is at most a multiple of its
 * size; and it causes no server error.
 */

import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { seededRandom } from '#apimachinery/testing/seeded-random.js';
import type { ApiServer } from '#apiserver/build/api-server.js';
import { type Cost, costOf } from '#test/fuzz/cost/meter.js';
import { pathOf, type Shape } from '#test/fuzz/cost/shapes.js';
import { call } from '#test/integration/apiserver/server.js';

export interface LawOptions {
  readonly server: ApiServer;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly seed: number;
  readonly milliseconds: number;
  readonly onInput?: (count: number) => void;
}

export interface LawResult {
  readonly inputs: number;
  /** Number of shapes that were expensive enough to compare. */
  readonly compared: number;
  /** Longest turn of the event loop; ms. */
  readonly longest: number;
  /** The shape with the longest turn. */
  readonly longestOf: string;
}

/** Processor time below which nothing is compared: quadratic growth shows at the sizes of the shapes. */
const cheapMs = 80;
/**
 * Quadratic cost would be four times as much; processor caches and garbage collection make linear cost a little more
 * than two.
 */
const maxRatio = 3;
const slackMs = 60;
/** For cost that must not grow at all. */
const maxFlatRatio = 1.4;
/** Measurements before a shape violates the law, since a busy machine may slow down any one of them. */
const attempts = 4;
/** Maximum response size: messages quote invalid values up to a limit, and objects get defaults. */
const maxAnswer = (bytesIn: number) => 2_500_000 + 40 * bytesIn;

/** Runs shapes in random order until the time is over or all have run. Throws an Error that names the shape. */
export async function law(shapes: readonly Shape[], options: LawOptions): Promise<LawResult> {
  const { server, dialect, clock, milliseconds, onInput } = options;
  const end = clock.monotonic() + milliseconds;
  const result = { inputs: 0, compared: 0, longest: 0, longestOf: '' };
  for (const shape of shuffled(shapes, seededRandom(options.seed))) {
    if (clock.monotonic() > end) break;
    result.inputs++;
    onInput?.(result.inputs);
    if (shape.needs !== undefined) {
      const body = shape.needs.object(dialect);
      await call(server, 'POST', pathOf(shape.needs, dialect), { body });
    }
    const first = await measured(server, shape, shape.size);
    if (first.turnMs > result.longest) Object.assign(result, { longest: first.turnMs, longestOf: shape.name });
    if (first.cpuMs <= cheapMs) continue;
    result.compared++;
    await compare(server, shape, first.cpuMs);
  }
  return result;
}

async function compare(server: ApiServer, shape: Shape, firstMs: number): Promise<void> {
  let once = firstMs;
  let twice = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < attempts; attempt++) {
    twice = Math.min(twice, (await measured(server, shape, 2 * shape.size)).cpuMs);
    if (twice <= (shape.flat === true ? maxFlatRatio : maxRatio) * once + slackMs) return;
    // A single small measurement may be too low by chance, several not.
    once = Math.max(once, (await measured(server, shape, shape.size)).cpuMs);
  }
  throw new Error(`${shape.name}: ${once.toFixed(0)} ms, and ${twice.toFixed(0)} ms for twice as much`);
}

async function measured(server: ApiServer, shape: Shape, size: number): Promise<Cost> {
  await shape.prepare?.(size);
  const request = shape.request(size);
  let all: Cost | undefined;
  for (let i = 0; i < (shape.times ?? 1); i++) {
    const cost = await costOf(server, request);
    if (cost.status >= 500 && !isClientsFault(cost.text)) throw new Error(`${shape.name}: ${cost.status} ${cost.text}`);
    if (cost.bytesOut > maxAnswer(cost.bytesIn)) {
      throw new Error(`${shape.name}: ${cost.bytesIn} bytes are answered with ${cost.bytesOut}`);
    }
    all = { ...cost, cpuMs: cost.cpuMs + (all?.cpuMs ?? 0), turnMs: Math.max(cost.turnMs, all?.turnMs ?? 0) };
  }
  if (all === undefined) throw new RangeError(`${shape.name} is never sent`);
  return all;
}

/** 1.24 answers some client mistakes with 500, in a Status without reason. A failure of the server has a reason. */
function isClientsFault(text: string): boolean {
  return text.startsWith('{"kind":"Status"') && !text.includes('"reason"');
}

function shuffled<T>(values: readonly T[], random: () => number): T[] {
  const result = [...values];
  for (let i = result.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [result[i], result[j]] = [result[j] as T, result[i] as T];
  }
  return result;
}
