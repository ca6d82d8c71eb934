/**
 * A node in memory, under a virtual clock: pods of every kind come and go while the agent dies in the midst of its calls,
 * its runtime refuses, hangs, loses answers and lies, and the API server is cut off. Whatever happens: no run of a container
 * begins twice, no status is untrue or taken back, and when all is well again nothing is left over and nobody waits.
 */
import { leases } from '#api/coordination/v1/resources.gen.js';
import { pods } from '#api/core/v1/resources.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { isNotFound } from '#apimachinery/errors/status.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { FakeApi } from '#client/testing/fake-api.js';
import { VirtualClock } from '#client/testing/virtual-clock.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import type { SimulatedRuntime } from '#nodeagent/simulated/runtime.js';
import { type AgentFixture, newSimulatedRuntime, startAgent, testResources } from '#nodeagent/testing/agent-fixture.js';
import { KillableClock, KillableTransport, killableCRI, ProcessLife } from '#nodeagent/testing/killable.js';
import { problemsOf } from '#test/integration/nodeagent/chaos/checks.js';
import { Faults } from '#test/integration/nodeagent/chaos/faults.js';
import { finalizer, type Random, randomPod } from '#test/integration/nodeagent/chaos/pods.js';
import { Truth } from '#test/integration/nodeagent/chaos/recorded-runs.js';
import { Statuses } from '#test/integration/nodeagent/chaos/statuses.js';

export interface ChaosOptions {
  /** From 0 to 1, the same for the same seed. */
  readonly random: Random;
  /** Of virtual time in which things go wrong. */
  readonly durationMs: number;
}

export interface ChaosResult {
  /** What must not be; empty when all went well. */
  readonly problems: readonly string[];
  readonly counts: { readonly pods: number; readonly runs: number; readonly kills: number; readonly faults: number };
}

const maxPods = 8;
/** At most, between what happens. */
const pauseMs = 4000;
/** Of each call; a run has one between these. */
const faultLikelihood = { least: 0.01, most: 0.15 };
/** Within so many of its calls a doomed agent dies. */
const doomCalls = 60;
/** By when all is as it should be: deadlines of two minutes and back-offs of five are over. */
const settleMs = 900_000;
const settleSteps = 30;
/** More than what runs for a second, and less than it waits then. */
const lookMs = 7000;
const lastingLooks = 3;
const { podUID: uidLabel } = new RuntimeLabels(orchDialect);

export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const node = new Node(options.random);
  node.begin();
  await node.disturb(options.durationMs);
  await node.settle();
  const problems = await node.lasting(() => node.problems());
  await node.removeAll();
  problems.push(...(await node.problems()), ...(await node.leftovers()));
  await node.stop();
  return { problems, counts: node.counts };
}

class Node {
  readonly #random: Random;
  readonly #clock = new VirtualClock();
  readonly #api = new FakeApi({ dialect: orchDialect, clock: this.#clock, resources: testResources });
  readonly #runtime: SimulatedRuntime = newSimulatedRuntime(this.#clock);
  readonly #truth = new Truth(this.#runtime, uidLabel);
  readonly #statuses = new Statuses(this.#truth);
  readonly #faults: Faults;
  #life = new ProcessLife();
  #agent: AgentFixture | undefined;
  #kills = 0;
  #pods = 0;

  constructor(random: Random) {
    this.#random = random;
    const { least, most } = faultLikelihood;
    const likelihood = least + random() ** 2 * (most - least);
    this.#faults = new Faults({ clock: this.#clock, random, likelihood });
  }

  get counts(): ChaosResult['counts'] {
    return { pods: this.#pods, runs: this.#truth.count, kills: this.#kills, faults: this.#faults.count };
  }

  /** An agent that finds what those before it have left. */
  begin(): void {
    const life = new ProcessLife();
    const clock = new KillableClock(this.#clock, life);
    const inner = new InProcessTransport({ handler: (request) => this.#api.handle(request) });
    const meddle = this.#faults.api(life);
    const transport = new KillableTransport(inner, life, async (method, call) => {
      const answer = await meddle(method, call);
      if (method !== 'GET') this.#look();
      return answer;
    });
    const client = new RestClient({ transport, dialect: orchDialect, clock });
    const cri = killableCRI(this.#runtime, life, this.#faults.runtime(life), () => this.#faults.isTold());
    this.#life = life;
    this.#agent = startAgent({ clock, client, api: this.#api, runtime: this.#runtime, dependencies: { cri } });
    // It gives up where it cannot learn at its start who its runtime is; somebody starts it again.
    this.#agent.started.catch(() => life.end());
  }

  #look(): void {
    this.#statuses.look(this.#api.list(pods));
  }

  async disturb(forMs: number): Promise<void> {
    const endMs = this.#clock.monotonic() + forMs;
    while (this.#clock.monotonic() < endMs) {
      await this.#clock.advance(this.#random() * pauseMs);
      this.#look();
      if (this.#life.isOver) this.#revive();
      await this.#happen(this.#random());
    }
  }

  #revive(): void {
    this.#kills++;
    this.begin();
  }

  async #happen(what: number): Promise<void> {
    const known = this.#api.list(pods);
    const some = known[Math.floor(this.#random() * known.length)];
    if (what < 0.35 && known.length < maxPods) {
      this.#api.seed(pods, randomPod(this.#random, `pod-${this.#pods++}`));
    } else if (what < 0.6 && some !== undefined) await this.#end(some);
    else if (what < 0.66) this.#life.end();
    else if (what < 0.76) this.#faults.killWithin(doomCalls);
    else if (what < 0.8) await this.#crash();
    else if (what < 0.83) this.#api.dropWatches();
    else if (what < 0.84) this.#api.compact();
  }

  /** Deleted, deleted with less time or none, or let go by its finalizer. */
  async #end({ metadata }: Pod): Promise<void> {
    const { name = '', deletionTimestamp, finalizers = [] } = metadata;
    if (deletionTimestamp !== undefined && finalizers.includes(finalizer)) this.#letGo(name);
    const gracePeriodSeconds = Math.floor(this.#random() * 4) * 5;
    await this.#delete(name, gracePeriodSeconds);
  }

  #letGo(name: string): void {
    this.#api.change(pods, `default/${name}`, (pod) => {
      pod.metadata.finalizers = [];
    });
  }

  async #delete(name: string, gracePeriodSeconds: number): Promise<void> {
    try {
      await this.#api.client.resource(pods).delete(name, { namespace: 'default', gracePeriodSeconds });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  /** Of something that runs. */
  async #crash(): Promise<void> {
    const running = await this.#runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    const container = running[Math.floor(this.#random() * running.length)];
    if (container !== undefined) this.#runtime.killContainer(container.id);
    const sandboxes = await this.#runtime.listPodSandbox({ state: 'SANDBOX_READY' });
    const sandbox = sandboxes[Math.floor(this.#random() * sandboxes.length * 4)];
    if (sandbox !== undefined) await this.#runtime.stopPodSandbox(sandbox.id);
  }

  /** Nothing goes wrong any more. */
  async settle(): Promise<void> {
    this.#faults.isOver = true;
    for (const { metadata } of this.#api.list(pods)) {
      if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length > 0)
        this.#letGo(metadata.name ?? '');
    }
    await this.#wait();
  }

  /** An agent that has just begun may yet give up: what it asked hangs still. */
  async #wait(): Promise<void> {
    for (let step = 0; step < settleSteps; step++) {
      if (this.#life.isOver) this.#revive();
      await this.#clock.advance(settleMs / settleSteps);
    }
    this.#look();
  }

  /** What is still wrong after a while: a container may have ended in this moment. */
  async lasting(found: () => Promise<string[]>): Promise<string[]> {
    for (let look = 0; look < lastingLooks && (await found()).length > 0; look++) await this.#clock.advance(lookMs);
    return found();
  }

  async problems(): Promise<string[]> {
    const { twice } = this.#truth;
    return [
      ...(await problemsOf({
        ...{ runtime: this.#runtime, truth: this.#truth, uidLabel },
        pods: this.#api.list(pods),
      })),
      ...this.#statuses.problems,
      ...[...twice].map((run) => `twice: ${run}`),
      ...(this.#api.list(leases).length === 1 ? [] : ['the node has no lease']),
    ];
  }

  async removeAll(): Promise<void> {
    for (const { metadata } of this.#api.list(pods)) {
      await this.#delete(metadata.name ?? '', 5);
      if ((metadata.finalizers ?? []).length > 0 && this.#api.get(pods, `default/${metadata.name}`) !== undefined)
        this.#letGo(metadata.name ?? '');
    }
    await this.#wait();
  }

  /** What is there when there are no pods any more. */
  async leftovers(): Promise<string[]> {
    const counts = {
      pods: this.#api.list(pods).length,
      sandboxes: (await this.#runtime.listPodSandbox()).length,
      containers: (await this.#runtime.listContainers()).length,
      logs: this.#runtime.logFiles.size,
    };
    return Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what} are left`]));
  }

  async stop(): Promise<void> {
    await this.#agent?.stop();
  }
}
