/** Builds the sources of static pods. */
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import { ManifestFiles } from '#nodeagent/sources/manifest-files.js';
import { ManifestURL, parseHeaders } from '#nodeagent/sources/manifest-url.js';
import { ManifestReader, type StaticSource } from '#nodeagent/sources/static-pod.js';
import { StaticPods } from '#nodeagent/sources/static-pods.js';

export interface StaticSources {
  readonly statics: StaticPods;
  /** Reads the sources until `signal` aborts. */
  readonly readStatics: (signal: AbortSignal) => Promise<void>;
}

export function newStaticSources(
  values: NodeAgentOptions,
  { informers, clock, log, nodeName }: NodeAgentDependencies,
  events: PodEvents,
): StaticSources {
  const { dialect } = informers.client;
  const path = values['pod-manifest-path'] ?? '';
  const url = values['manifest-url'] ?? '';
  const named: readonly [StaticSource, string][] = [
    ['file', path],
    ['http', url],
  ];
  const sources = named.flatMap(([source, place]) => (place === '' ? [] : [source]));
  const statics = new StaticPods({ dialect, clock, log, events, sources });
  const gates = new FeatureGates(values['feature-gates']);
  const reader = new ManifestReader({ dialect, clock, nodeName, gate: (name) => gates.enabled(name) });
  const shared = { reader, clock, log };
  const readStatics = async (signal: AbortSignal) => {
    const running: Promise<void>[] = [];
    if (path !== '') {
      const periodMs = values['file-check-frequency'];
      running.push(
        new ManifestFiles({ ...shared, path, periodMs, onPods: (pods) => statics.set('file', pods) }).run(signal),
      );
    }
    if (url !== '') {
      const periodMs = values['http-check-frequency'];
      const headers = parseHeaders(values['manifest-url-header']);
      running.push(
        new ManifestURL({ ...shared, url, headers, periodMs, onPods: (pods) => statics.set('http', pods) }).run(signal),
      );
    }
    await Promise.all(running);
  };
  return { statics, readStatics };
}
