/** A program that writes to the cluster all the time, and the longest wait of a write during a fault. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { setServer } from '#cluster/clients/api-balancer.js';
import { eventually, Running, root } from '#test/e2e/harness.js';
import type { Machines } from '#test/e2e/high-availability/machines.js';
import type { Host } from '#test/e2e/hosts.js';
import type { LoadReport } from '#test/e2e/write-load.js';

/** Maximum time after a machine fault until writes continue; ms. */
export const refusalMs = 5000;
/** Number of writes that proves that writes continue. */
const someWrites = 20;

export class WriteLoad {
  readonly #program: Running;

  private constructor(program: Running) {
    this.#program = program;
  }

  /** Starts on a joined node, with that node's way to all servers. */
  static start(machines: Machines, host: Host, nodeName: string): WriteLoad {
    const config = readFileSync(machines.layout(host).componentConfig(`node-${nodeName}`), 'utf8');
    const way = parseKubeconfig(config).clusters[0]?.cluster.server ?? '';
    const own = join(machines.dirOf(host), 'load.config');
    writeFileSync(own, readFileSync(machines.admin), { mode: 0o600 });
    setServer(own, way);
    const [program, args] = host.command(process.execPath, [join(root, 'dist/test/e2e/write-load.js'), own]);
    return new WriteLoad(new Running(program, args, {}));
  }

  async report(): Promise<LoadReport> {
    const before = this.#reports().length;
    this.#program.write('\n');
    return eventually('the load reports', async () => this.#reports()[before]);
  }

  /** Longest wait of a write in ms, from before the fault until writes continue. Throws when they do not. */
  async longestWaitMs(what: string, happens: () => Promise<void> | void): Promise<number> {
    const { acknowledged } = await this.report();
    await happens();
    let longestMs = 0;
    // The first acknowledgement may belong to a write from before the fault.
    await eventually(
      `writes go on: ${what}`,
      async () => {
        const now = await this.report();
        longestMs = Math.max(longestMs, now.longestMs);
        return now.acknowledged >= acknowledged + someWrites;
      },
      2 * refusalMs,
    );
    return longestMs;
  }

  /** Stops writing and reads all objects back. Throws when the program fails. */
  async end(): Promise<LoadReport> {
    this.#program.end();
    const code = await this.#program.exited;
    const last = this.#reports().at(-1);
    if (code !== 0 || last === undefined) throw new Error(`the load ended with ${code}: ${this.#program.stderr}`);
    return last;
  }

  stop(): Promise<unknown> {
    return this.#program.stop();
  }

  #reports(): LoadReport[] {
    const lines = this.#program.stdout.trim().split('\n');
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LoadReport);
  }
}
