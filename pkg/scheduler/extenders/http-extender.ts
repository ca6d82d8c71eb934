/** Extenders over HTTP(S); rules of release 1.24. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { Logger } from '#daemon/log/logger.js';
import { OptionsError } from '#daemon/options/option.js';
import type { NodeInfo } from '#scheduler/cluster/node-info.js';
import type { PodInfo } from '#scheduler/cluster/pod-info.js';
import { readScores, readVerdict, readVictims, throwError } from '#scheduler/extenders/answers.js';
import {
  type ConnectionOptions,
  ExtenderConnection,
  skipsVerification,
  tlsOf,
} from '#scheduler/extenders/connection.js';
import type { ExtenderSettings } from '#scheduler/extenders/settings.js';
import type { Extender, ProposedVictims } from '#scheduler/framework/extender.js';
import { maxNodeScore } from '#scheduler/framework/plugin.js';

/** Highest score an extender should give. */
const maxExtenderPriority = 10;

type Candidates = Parameters<NonNullable<Extender['preempt']>>[1];

export class HttpExtender implements Extender {
  readonly name: string;
  readonly ignorable: boolean;
  readonly filter?: NonNullable<Extender['filter']>;
  readonly prioritize?: NonNullable<Extender['prioritize']>;
  readonly preempt?: NonNullable<Extender['preempt']>;
  readonly bind?: NonNullable<Extender['bind']>;
  readonly #managed: ReadonlySet<string>;
  readonly #settings: ExtenderSettings;
  readonly #connection: ExtenderConnection;

  constructor(settings: ExtenderSettings, options: ConnectionOptions) {
    const { bindVerb, filterVerb, ignorable, managedResources, preemptVerb, prioritizeVerb } = settings;
    this.#settings = settings;
    this.#connection = new ExtenderConnection(settings, options);
    this.name = this.#connection.url;
    this.ignorable = ignorable;
    this.#managed = new Set(managedResources.map(({ name }) => name));
    if (filterVerb !== undefined) this.filter = (...args) => this.#filter(filterVerb, ...args);
    if (prioritizeVerb !== undefined) this.prioritize = (...args) => this.#prioritize(prioritizeVerb, ...args);
    if (preemptVerb !== undefined) this.preempt = (...args) => this.#preempt(preemptVerb, ...args);
    if (bindVerb !== undefined) this.bind = (...args) => this.#bind(bindVerb, ...args);
  }

  isInterested({ pod: { spec } }: PodInfo): boolean {
    if (this.#managed.size === 0) return true;
    const containers = [...(spec.containers ?? []), ...(spec.initContainers ?? [])];
    return containers.some(({ resources }) =>
      [resources?.requests, resources?.limits].some((list) =>
        Object.keys(list ?? {}).some((name) => this.#managed.has(name)),
      ),
    );
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  async #filter(verb: string, { pod }: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal) {
    const answer = await this.#connection.post(verb, this.#question(pod, nodes), stop);
    return readVerdict(answer, this.name, namesOf(nodes));
  }

  async #prioritize(verb: string, { pod }: PodInfo, nodes: readonly NodeInfo[], stop: AbortSignal) {
    const answer = await this.#connection.post(verb, this.#question(pod, nodes), stop);
    const scale = this.#settings.weight * (maxNodeScore / maxExtenderPriority);
    const scores = readScores(answer, namesOf(nodes));
    return new Map([...scores].map(([node, score]) => [node, score * scale]));
  }

  async #preempt(verb: string, { pod, priority }: PodInfo, candidates: Candidates, stop: AbortSignal) {
    const answer = await this.#connection.post(verb, this.#preemption(pod, candidates), stop);
    const result = new Map<string, ProposedVictims>();
    for (const [name, { uids, violations }] of readVictims(answer)) {
      const node = candidates.get(name)?.node;
      if (node === undefined)
        throw new Error(`extender ${this.name} chose node ${JSON.stringify(name)}, which was no candidate`);
      const pods = [...new Set(uids)].map((uid) => {
        const victim = node.pods.get(uid);
        const claim = `extender: ${this.name} claims to preempt pod (UID: ${uid}) on node: ${name}`;
        if (victim === undefined) throw new Error(`${claim}, but the pod is not found on that node`);
        // Never evict a pod that is at least as important, even at an extender's request.
        if (victim.priority >= priority) throw new Error(`${claim}, but that pod is as important`);
        return victim;
      });
      result.set(name, { pods, violations });
    }
    return result;
  }

  async #bind(verb: string, { pod: { metadata } }: PodInfo, node: string, stop: AbortSignal) {
    const { name, namespace, uid } = metadata;
    const question = { PodName: name, PodNamespace: namespace, PodUID: uid, Node: node };
    throwError(await this.#connection.post(verb, question, stop));
  }

  #question(pod: Pod, nodes: readonly NodeInfo[]): object {
    if (this.#settings.nodeCacheCapable) return { Pod: pod, Nodes: null, NodeNames: nodes.map(({ name }) => name) };
    return { Pod: pod, Nodes: { metadata: {}, items: nodes.map(({ node }) => node) }, NodeNames: null };
  }

  #preemption(pod: Pod, candidates: Candidates): object {
    const victims = (describe: (victim: PodInfo) => object) =>
      Object.fromEntries(
        [...candidates].map(
          ([
            name,
            {
              victims: { pods, violations },
            },
          ]) => [name, { Pods: pods.map(describe), NumPDBViolations: violations }],
        ),
      );
    if (this.#settings.nodeCacheCapable) {
      return { Pod: pod, NodeNameToVictims: null, NodeNameToMetaVictims: victims(({ uid }) => ({ UID: uid })) };
    }
    return { Pod: pod, NodeNameToVictims: victims((victim) => victim.pod), NodeNameToMetaVictims: null };
  }
}

const namesOf = (nodes: readonly NodeInfo[]): ReadonlySet<string> => new Set(nodes.map(({ name }) => name));

/** Creates the configured extenders. Rejects with an OptionsError if certificates cannot be read. */
export async function httpExtenders(
  all: readonly ExtenderSettings[],
  { log, ...options }: ConnectionOptions & { readonly log: Logger },
): Promise<HttpExtender[]> {
  const errors: string[] = [];
  const extenders: HttpExtender[] = [];
  for (const [i, settings] of all.entries()) {
    try {
      await tlsOf(settings, options.clock).current();
      const extender = new HttpExtender(settings, options);
      extenders.push(extender);
      if (skipsVerification(settings) && settings.tls?.insecure !== true) {
        log.warn(
          { extender: extender.name },
          'extender certificate is not verified: enableHTTPS is set without a certificate authority',
        );
      }
    } catch (error) {
      errors.push(`extenders[${i}]: ${messageOf(error)}`);
    }
  }
  if (errors.length > 0) throw new OptionsError(errors);
  return extenders;
}
