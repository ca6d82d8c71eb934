/**
 * An in-memory node on a virtual clock. Pods of every kind come and go while the agent is killed during calls, its
 * runtime fails, hangs, loses responses and returns false ones, and the API server is unreachable. No run of a
 * container may start twice, no status may be false or reverted, and once the faults end, nothing may be left over or
 * stuck.
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
import { RecordedRuns } from '#test/integration/nodeagent/chaos/recorded-runs.js';
import { Statuses } from '#test/integration/nodeagent/chaos/statuses.js';

export interface ChaosOptions {
  /** From 0 to 1, deterministic per seed. */
  readonly random: Random;
  /** The virtual time with faults. */
  readonly durationMs: number;
}

export interface ChaosResult {
  /** Violations; empty on success. */
  readonly problems: readonly string[];
  readonly counts: { readonly pods: number; readonly runs: number; readonly kills: number; readonly faults: number };
}

const maxPods = 8;
/** The longest pause between actions. */
const pauseMs = 4000;
/** The bounds of the fault probability of each call; each run picks one value. */
const faultLikelihood = { least: 0.01, most: 0.15 };
/** The most calls a doomed agent makes before it is killed. */
const doomCalls = 60;
/** Long enough for deadlines of two minutes and back-offs of five. */
const settleMs = 900_000;
const settleSteps = 30;
/** Longer than a container's one-second run and shorter than its back-off. */
const recheckMs = 7000;
const maxRechecks = 3;
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
  readonly #recordedRuns = new RecordedRuns(this.#runtime, uidLabel);
  readonly #statuses = new Statuses(this.#recordedRuns);
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
    return { pods: this.#pods, runs: this.#recordedRuns.count, kills: this.#kills, faults: this.#faults.count };
  }

  /** Starts an agent, which adopts the state left by its predecessors. */
  begin(): void {
    const life = new ProcessLife();
    const clock = new KillableClock(this.#clock, life);
    const inner = new InProcessTransport({ handler: (request) => this.#api.handle(request) });
    const intercept = this.#faults.api(life);
    const transport = new KillableTransport(inner, life, async (method, call) => {
      const response = await intercept(method, call);
      if (method !== 'GET') this.#checkStatuses();
      return response;
    });
    const client = new RestClient({ transport, dialect: orchDialect, clock });
    const cri = killableCRI(this.#runtime, life, this.#faults.runtime(life), () => this.#faults.deliversEvent());
    this.#life = life;
    this.#agent = startAgent({ clock, client, api: this.#api, runtime: this.#runtime, dependencies: { cri } });
    // An agent that cannot read the runtime's version at its start gives up and is restarted.
    this.#agent.started.catch(() => life.end());
  }

  #checkStatuses(): void {
    this.#statuses.check(this.#api.list(pods));
  }

  async disturb(forMs: number): Promise<void> {
    const endMs = this.#clock.monotonic() + forMs;
    while (this.#clock.monotonic() < endMs) {
      await this.#clock.advance(this.#random() * pauseMs);
      this.#checkStatuses();
      if (this.#life.isOver) this.#revive();
      await this.#happen(this.#random());
    }
  }

  #revive(): void {
    this.#kills++;
    this.begin();
  }

  async #happen(what: number): Promise<void> {
    const list = this.#api.list(pods);
    const some = list[Math.floor(this.#random() * list.length)];
    if (what < 0.35 && list.length < maxPods) {
      this.#api.seed(pods, randomPod(this.#random, `pod-${this.#pods++}`));
    } else if (what < 0.6 && some !== undefined) await this.#deletePod(some);
    else if (what < 0.66) this.#life.end();
    else if (what < 0.76) this.#faults.killWithin(doomCalls);
    else if (what < 0.8) await this.#crash();
    else if (what < 0.83) this.#api.dropWatches();
    else if (what < 0.84) this.#api.compact();
  }

  /** Deletes the pod, possibly with a shorter grace period or none, or removes its finalizer. */
  async #deletePod({ metadata }: Pod): Promise<void> {
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

  /** Crashes a random container and possibly a sandbox. */
  async #crash(): Promise<void> {
    const running = await this.#runtime.listContainers({ state: 'CONTAINER_RUNNING' });
    const container = running[Math.floor(this.#random() * running.length)];
    if (container !== undefined) this.#runtime.killContainer(container.id);
    const sandboxes = await this.#runtime.listPodSandbox({ state: 'SANDBOX_READY' });
    const sandbox = sandboxes[Math.floor(this.#random() * sandboxes.length * 4)];
    if (sandbox !== undefined) await this.#runtime.stopPodSandbox(sandbox.id);
  }

  /** Ends the faults. */
  async settle(): Promise<void> {
    this.#faults.isOver = true;
    for (const { metadata } of this.#api.list(pods)) {
      if (metadata.deletionTimestamp !== undefined && (metadata.finalizers ?? []).length > 0)
        this.#letGo(metadata.name ?? '');
    }
    await this.#wait();
  }

  /** Waits; a recently started agent may still give up because of a hung call. */
  async #wait(): Promise<void> {
    for (let step = 0; step < settleSteps; step++) {
      if (this.#life.isOver) this.#revive();
      await this.#clock.advance(settleMs / settleSteps);
    }
    this.#checkStatuses();
  }

  /** Returns problems that persist, as a container may just have ended. */
  async lasting(findProblems: () => Promise<string[]>): Promise<string[]> {
    for (let recheck = 0; recheck < maxRechecks && (await findProblems()).length > 0; recheck++)
      await this.#clock.advance(recheckMs);
    return findProblems();
  }

  async problems(): Promise<string[]> {
    const { twice } = this.#recordedRuns;
    return [
      ...(await problemsOf({
        ...{ runtime: this.#runtime, recordedRuns: this.#recordedRuns, uidLabel },
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

  /** Returns what is left after all pods are gone. */
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
