/** Observes container runs directly at the runtime, and records those that began twice. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import type { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { RuntimeLabels } from '#nodeagent/runtime/labels.js';
import { begun } from '#test/e2e/chaos/pods.js';
import { nodeNames } from '#test/e2e/observe.js';

const labels = new RuntimeLabels(dialectByName('orch'));
const pauseMs = 250;

export class Runs {
  readonly #cri: GrpcCRI;
  readonly #logs: readonly string[];
  readonly #stop = new AbortController();
  readonly #work: Promise<void>;
  /** `uid/container/restart count` → the container observed for it. */
  readonly #ran = new Map<string, string>();
  readonly twice = new Set<string>();
  /** Container ID in the form of statuses → exit code from the runtime. */
  readonly exitCodes = new Map<string, number>();
  /** Logs with the begin line of a run. */
  readonly begun = new Set<string>();

  constructor(dataDir: string, cri: GrpcCRI) {
    this.#cri = cri;
    this.#logs = nodeNames(dataDir).map((node) => join(layoutOf(dataDir).node(node), 'logs'));
    this.#work = this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      await this.#lookAtRuntime();
      for (const logs of this.#logs) await this.#lookAtLogs(logs);
      await realClock.sleep(pauseMs, this.#stop.signal);
    }
  }

  async #lookAtRuntime(): Promise<void> {
    // A runtime that was just killed does not answer.
    const containers = await this.#cri.listContainers().catch(() => []);
    for (const { id, labels: own, metadata, state } of containers) {
      if (state === 'CONTAINER_EXITED') await this.#noteEnd(id);
      if (state !== 'CONTAINER_RUNNING') continue;
      const run = `${own[labels.podUID]}/${metadata.name}/${metadata.attempt}`;
      const other = this.#ran.get(run) ?? id;
      if (other !== id) this.twice.add(`${run}: ${other} and ${id}`);
      this.#ran.set(run, id);
    }
  }

  async #noteEnd(id: string): Promise<void> {
    const key = `containerd://${id}`;
    if (this.exitCodes.has(key)) return;
    // The container or the runtime may be gone by now.
    const status = await this.#cri.containerStatus(id).catch(() => undefined);
    if (status?.state === 'CONTAINER_EXITED') this.exitCodes.set(key, status.exitCode);
  }

  /** The restart count names the log of a run; the runtime appends to an existing log. */
  async #lookAtLogs(logs: string): Promise<void> {
    const names = await readdir(logs, { recursive: true }).catch(() => []);
    for (const name of names) {
      if (!name.endsWith('.log')) continue;
      const text = await readFile(join(logs, name), 'utf8').catch(() => '');
      const count = text.split('\n').filter((line) => line.endsWith(` ${begun}`)).length;
      if (count > 0) this.begun.add(name);
      if (count > 1) this.twice.add(`${name}: begun ${count} times`);
    }
  }
}
