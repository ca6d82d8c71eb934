/** A program that writes to the cluster all the time, and how long a write has to wait while something happens to it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseKubeconfig } from '#client/kubeconfig/file.js';
import { setServer } from '#cluster/clients/api-balancer.js';
import { eventually, Running, root } from '#test/e2e/harness.js';
import type { Machines } from '#test/e2e/high-availability/machines.js';
import type { Host } from '#test/e2e/hosts.js';
import type { LoadReport } from '#test/e2e/write-load.js';

/** In which writes go on, whatever became of a machine. */
export const refusalMs = 5000;
/** Writes after which they are said to go on. */
const someWrites = 20;

export class WriteLoad {
  readonly #program: Running;

  private constructor(program: Running) {
    this.#program = program;
  }

  /** On a machine that has joined as a node, by the way to all servers that its own node has. */
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

  /** How long a write has to wait, in ms, from before something happens until writes go on. Throws when they do not. */
  async longestWaitMs(what: string, happens: () => Promise<void> | void): Promise<number> {
    const { acknowledged } = await this.report();
    await happens();
    let longestMs = 0;
    // The first that comes after it may have been on its way before.
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

  /** Ends the writing and reads all again. Throws when the program did not end well. */
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
