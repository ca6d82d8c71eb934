/** Measures pod starts and the runtime's share of them: the same calls made directly, interleaved with the agent's. */

import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect } from '#apimachinery/dialect.js';
import type { ContainerConfig, PodSandboxConfig } from '#nodeagent/cri/cri.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { containerConfig, sandboxConfig } from '#nodeagent/pods/runtime-config.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { type BenchNode, raisedRates } from '#test/bench/nodeagent/bench-node.js';
import { cpuMs, figure, megabytes, residentBytes, seconds } from '#test/bench/report.js';

/**
 * The runtime calls of an agent for such pods, made directly. Labels of the other dialect hide the pods from agents.
 */
class ByHand {
  readonly #cri: GrpcCRI;
  readonly #logs: string;
  readonly #labels = new RuntimeLabels(orchDialect);
  readonly #sandboxes: string[] = [];

  constructor({ node }: BenchNode) {
    this.#cri = new GrpcCRI({ endpoint: node.runtimeEndpoint, clock });
    this.#logs = join(node.folder, 'by-hand');
  }

  /** Returns the milliseconds until all run. */
  async run(pods: readonly Pod[]): Promise<number> {
    const configs = await Promise.all(pods.map((pod) => this.#configs(pod)));
    const began = clock.monotonic();
    await Promise.all(configs.map((each) => this.#start(each)));
    return clock.monotonic() - began;
  }

  async removeAll(): Promise<void> {
    const remove = async (id: string) => {
      await this.#cri.stopPodSandbox(id);
      await this.#cri.removePodSandbox(id);
    };
    await Promise.all(this.#sandboxes.splice(0).map(remove));
    await rm(this.#logs, { recursive: true, force: true });
  }

  close(): Promise<void> {
    return this.#cri.close();
  }

  async #configs({ metadata, spec }: Pod) {
    const pod: Pod = { metadata: { ...metadata, uid: `by-hand-${metadata.name}` }, spec };
    const [container] = spec.containers;
    if (container === undefined) throw new Error('a pod without containers');
    const labels = this.#labels;
    const logDirectory = join(this.#logs, metadata.name ?? '');
    await mkdir(join(logDirectory, container.name), { recursive: true });
    const image = await this.#cri.imageStatus(container.image ?? '');
    if (image === undefined) throw new Error(`no image ${container.image}`);
    const sandbox = sandboxConfig({
      ...{ pod, labels, logDirectory },
      attempt: 0,
      hostname: metadata.name ?? '',
      dns: { servers: [], searches: [], options: [] },
      quota: { enforced: true, periodMicros: 100_000 },
    });
    const config = containerConfig({
      ...{ pod, container, labels, image },
      attempt: 0,
      environment: new Map(),
      mounts: [],
      devices: [],
      annotations: {},
      volumeGroups: [],
      resources: {},
      security: { seccompDefault: false, seccompProfileRoot: '' },
    });
    return { sandbox, config };
  }

  async #start({ sandbox, config }: { sandbox: PodSandboxConfig; config: ContainerConfig }): Promise<void> {
    const id = await this.#cri.runPodSandbox(sandbox);
    this.#sandboxes.push(id);
    await this.#cri.startContainer(await this.#cri.createContainer(id, config, sandbox));
  }
}

/** Interleaved; the agent has default options. */
export async function measureSingle(benchNode: BenchNode, rounds: number): Promise<void> {
  const byHand = new ByHand(benchNode);
  await benchNode.startAgent();
  const runtime: number[] = [];
  const agent: number[] = [];
  // The first round warms the runtime's caches and is not counted.
  for (let round = 0; round <= rounds; round++) {
    runtime.push(await byHand.run([benchNode.pod(`one-${round}`)]));
    await byHand.removeAll();
    agent.push(await benchNode.run([benchNode.pod(`one-${round}`)]));
    await benchNode.removeAll();
  }
  await byHand.close();
  const [alone, withAgent] = [median(runtime.slice(1)), median(agent.slice(1))];
  figure(`one pod, by hand (median of ${rounds})`, `${alone.toFixed(0)} ms`);
  figure(`one pod, from its creation to "running" in a watch`, `${withAgent.toFixed(0)} ms`);
  figure('one pod: what is added', `${(withAgent - alone).toFixed(0)} ms`, '100 ms');
}

export interface ManyStarts {
  readonly rounds: number;
  readonly atOnce: number;
}

/** Interleaved; each round starts a new agent, as the options differ. */
export async function measureMany(benchNode: BenchNode, { rounds, atOnce }: ManyStarts): Promise<void> {
  const byHand = new ByHand(benchNode);
  const manyPods = Array.from({ length: atOnce }, (_, i) => benchNode.pod(`many-${i}`));
  const measured = new Map<string, number[]>();
  const note = (name: string, ms: number) => measured.set(name, [...(measured.get(name) ?? []), ms]);
  const cpuName = (name: string, of: string) => `${name}: CPU time of the ${of}`;
  const processes = () => ({ agent: benchNode.agentPid, 'API server': benchNode.serverPid });
  const run = async (name: string, options: readonly string[]) => {
    await benchNode.startAgent(...options);
    // Warms up the runtime and the agent.
    await benchNode.run([benchNode.pod('first')]);
    await benchNode.removeAll();
    const before = Object.entries(processes()).map(([of, pid]) => ({ of, pid, ms: cpuMs(pid) }));
    note(name, await benchNode.run(manyPods));
    for (const { of, pid, ms } of before) note(cpuName(name, of), cpuMs(pid) - ms);
    await benchNode.removeAll();
  };
  for (let round = 0; round < rounds; round++) {
    note('by hand', await byHand.run(manyPods));
    await byHand.removeAll();
    await run('raised', raisedRates);
    await run('default', []);
  }
  await byHand.close();
  const best = (name: string) => Math.min(...(measured.get(name) ?? []));
  const alone = best('by hand');
  const row = (title: string, name: string, limit: string) => {
    figure(`${atOnce} pods at once, ${title} (best of ${rounds})`, seconds(best(name)));
    figure(`${atOnce} pods at once, ${title}: of the runtime's time`, `${(best(name) / alone).toFixed(2)} ×`, limit);
    // Least affected by other load on the machine.
    for (const of of Object.keys(processes()))
      figure(`${atOnce} pods at once, ${title}: CPU of the ${of}`, seconds(best(cpuName(name, of))));
  };
  figure(`${atOnce} pods at once, by hand (best of ${rounds})`, seconds(alone));
  row('rates of `orch up`', 'raised', '1.15 ×');
  row('default options', 'default', '2 ×');
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

/** Usage of an agent when only probes run. */

export interface Limits {
  readonly cpu: string;
  readonly memory?: string;
}

/**
 * Pod starts leave work behind: for half a minute the runtime collects garbage several times, which would double the
 * usage measured in one minute.
 */
export const settleMs = 60_000;

export async function measureIdle(pid: number, what: string, seconds: number, limits: Limits): Promise<void> {
  const before = cpuMs(pid);
  await clock.sleep(seconds * 1000);
  const used = cpuMs(pid) - before;
  figure(`${what}: share of one core`, `${(used / (seconds * 10)).toFixed(2)} %`, limits.cpu);
  figure(`${what}: resident memory`, megabytes(residentBytes(pid)), limits.memory);
}
