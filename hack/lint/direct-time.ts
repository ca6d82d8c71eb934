/**
 * Finds code of the product that takes time or chance from the process instead of from its constructor: it could not run
 * under a virtual clock, nor repeat a run from its seed.
 */

import { withoutComments } from './comments.js';

/** Files that meet the process's own time, each with its reason. */
const adapters: Readonly<Record<string, string>> = {
  'pkg/apimachinery/clock.ts': 'the clock itself',
  'pkg/dashboard/client/platform/browser-clock.ts': 'the clock itself, in browsers',
  'pkg/daemon/tracing/otlp-tracer.ts': "spans carry the time of OpenTelemetry's own exporter",
  'pkg/nodeagent/grpc/channel.ts': 'a gRPC deadline is an instant of the process',
  'pkg/nodeagent/probes/grpc-check.ts': 'the time limit of a real connection',
  'pkg/storage/cache/cache-fixture.ts': 'keeps the process of a test alive',
};
/** Code that composes a daemon or a cluster and passes chance on. */
const composition = /^(?:cmd|pkg\/(?:cluster|testcluster))\/|^pkg\/daemon\/run\.ts$/;

const time = /(?<![\w.#])(?:Date\.now\b|setTimeout\(|setInterval\(|new Date\(\))/g;
const chance = /(?<![\w.#])Math\.random\b/g;

/** What the file takes from the process; nothing for adapters. */
export function directTime(path: string, source: string): string[] {
  if (path in adapters) return [];
  return uses(source, composition.test(path) ? [time] : [time, chance]);
}

/** Adapters that do not exist or no longer take time. */
export function idleAdapters(sources: ReadonlyMap<string, string>): string[] {
  return Object.keys(adapters).filter((path) => uses(sources.get(path) ?? '', [time]).length === 0);
}

function uses(source: string, patterns: readonly RegExp[]): string[] {
  const code = withoutComments(source);
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)]).map(([text]) => text.replace(/\($/, ''));
}
