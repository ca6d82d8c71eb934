/** A network from which a test connects and in which it serves: of a pod, a node, or a host outside. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { root } from '#test/e2e/harness.js';
import type { Order, Report, Target } from '#test/e2e/traffic/protocol.js';

const program = join(root, 'dist', 'test', 'e2e', 'traffic', 'probe.js');

/** Generous, since a busy machine answers slowly. */
export const answerMs = 10_000;

export interface Expectation {
  /** Names of the servers that must all answer; requests repeat until they have. */
  readonly expect: readonly string[];
  /** Minimum number of requests; default 1. */
  readonly least?: number;
  readonly timeoutMs?: number;
}

export class Place {
  readonly name: string;
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #waiting = new Map<number, (report: Report) => void>();
  readonly #failed: Promise<never>;
  #last = 0;

  /** @param namespace Path of the network namespace. */
  constructor(name: string, namespace: string) {
    this.name = name;
    const args = ['-u', 'NODE_OPTIONS', 'nsenter', `--net=${namespace}`, process.execPath, program];
    this.#child = spawn('env', args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#failed = once(this.#child, 'close').then(([code]) => {
      throw new Error(`the probe at ${name} ended with ${code}`);
    });
    this.#failed.catch(() => undefined);
    this.#child.stdin.on('error', () => undefined);
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      const { id, report } = JSON.parse(line) as { id: number; report: Report };
      this.#waiting.get(id)?.(report);
      this.#waiting.delete(id);
    });
  }

  async serve(tcp: readonly number[], udp: readonly number[]): Promise<void> {
    await this.#tell({ kind: 'serve', name: this.name, tcp, udp });
  }

  ask(target: Target, { expect, least = 1, timeoutMs = answerMs }: Expectation): Promise<Report> {
    // With so many tries the chance to miss one of three servers is 10^-26.
    const tries = expect.length === 0 ? least : 150;
    return this.#tell({ kind: 'ask', target, expect, least, timeoutMs, tries });
  }

  async keepAsking(targets: readonly Target[], { pauseMs = 100, timeoutMs = answerMs } = {}): Promise<void> {
    await this.#tell({ kind: 'keep-asking', targets, pauseMs, timeoutMs });
  }

  /** Ends `keepAsking`. */
  report(): Promise<Report> {
    return this.#tell({ kind: 'report' });
  }

  close(): void {
    this.#child.stdin.end();
  }

  #tell(order: Order): Promise<Report> {
    const id = ++this.#last;
    const answered = new Promise<Report>((resolve) => this.#waiting.set(id, resolve));
    this.#child.stdin.write(`${JSON.stringify({ id, order })}\n`);
    return Promise.race([answered, this.#failed]);
  }
}

/** Network namespaces of the processes of pods, by UID. */
export async function namespacesOfPods(uids: readonly string[]): Promise<Map<string, string>> {
  const namespaces = new Map<string, string>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const cgroups = await readFile(`/proc/${pid}/cgroup`, 'utf8').catch(() => '');
    const uid = uids.find((each) => cgroups.includes(each) || cgroups.includes(each.replaceAll('-', '_')));
    if (uid !== undefined) namespaces.set(uid, `/proc/${pid}/ns/net`);
  }
  return namespaces;
}
