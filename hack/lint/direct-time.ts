/**
 * Finds code of the product that takes time or chance from the process instead of from its constructor: it could not run
 * under a virtual clock, nor repeat a run from its seed.
 */

/** Files that meet the process's own time, each with its reason. */
const adapters: Readonly<Record<string, string>> = {
  'pkg/apimachinery/clock.ts': 'the clock itself',
  'pkg/daemon/tracing/otlp-tracer.ts': "spans carry the time of OpenTelemetry's own exporter",
  'pkg/nodeagent/cri/grpc/channel.ts': 'a gRPC deadline is an instant of the process',
  'pkg/nodeagent/probes/grpc-check.ts': 'the time limit of a real connection',
  'pkg/storage/cache/cache-fixture.ts': 'keeps the process of a test alive',
};
/** Code that composes a daemon or a cluster and passes chance on. */
const composition = /^(?:cmd|pkg\/cluster)\/|^pkg\/daemon\/run\.ts$/;

const time = /(?<![\w.#])(?:Date\.now\b|setTimeout\(|setInterval\(|new Date\(\))/g;
const chance = /(?<![\w.#])Math\.random\b/g;
const comment = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm;

/** What the file takes from the process; nothing for adapters. */
export function directTime(path: string, source: string): string[] {
  if (path in adapters) return [];
  const code = source.replace(comment, '');
  const patterns = composition.test(path) ? [time] : [time, chance];
  return patterns.flatMap((pattern) => [...code.matchAll(pattern)]).map(([text]) => text.replace(/\($/, ''));
}

/** Adapters that are no files any more, or have nothing to be excused for. */
export function idleAdapters(sources: ReadonlyMap<string, string>): string[] {
  return Object.keys(adapters).filter((path) => {
    time.lastIndex = 0;
    return !time.test(sources.get(path) ?? '');
  });
}
