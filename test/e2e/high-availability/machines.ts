/** Machines of one cluster: hosts with a data directory each, on which the users' programs run. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Layout, layoutOf } from '#cluster/config/layout.js';
import { readIdentity } from '#cluster/process/identity.js';
import { type RunResult, root } from '#test/e2e/harness.js';
import { type Host, makeHosts } from '#test/e2e/hosts.js';

const timeoutMs = 180_000;

/** Path of a program of this checkout. */
export const bin = (name: string): string => join(root, 'bin', name);

/** The output of a program that must succeed; throws with all its output when it fails. */
export async function succeeds(running: Promise<RunResult>): Promise<string> {
  const { code, stdout, stderr } = await running;
  if (code !== 0) throw new Error(`ended with ${code}\n${stdout}\n${stderr}`);
  return stdout;
}

export interface JoinOptions {
  /** What `orch token create` or `orchctl token create --print-join-command` printed. */
  readonly line: string;
  readonly runtime: 'containerd' | 'simulated';
  readonly nodeName: string;
}

export class Machines {
  readonly hosts: readonly Host[];
  readonly #network;
  readonly #folders: ReadonlyMap<Host, string>;

  /** On one network, with the addresses 10.250.0.1 and so on. */
  constructor(count: number) {
    this.#network = makeHosts([count]);
    this.hosts = this.#network.hosts;
    this.#folders = new Map(this.hosts.map((host) => [host, mkdtempSync(join(tmpdir(), 'oh-'))]));
  }

  get first(): Host {
    return this.hosts[0] as Host;
  }

  /** The configuration of the administrator's clients on the first one. */
  get admin(): string {
    return this.layout(this.first).clientConfig;
  }

  dirOf(host: Host): string {
    return this.#folders.get(host) ?? '';
  }

  layout(host: Host): Layout {
    return layoutOf(this.dirOf(host));
  }

  /** Its output; throws when it does not succeed. */
  orch(host: Host, ...args: string[]): Promise<string> {
    return succeeds(host.run(bin('orch'), [...args, '--data-dir', this.dirOf(host)], { timeoutMs }));
  }

  /** `orchctl` of the administrator on the first one. */
  ctl(args: readonly string[], input = ''): Promise<RunResult> {
    return this.first.run(bin('orchctl'), args, { env: { KUBECONFIG: this.admin }, input });
  }

  join(host: Host, { line, runtime, nodeName }: JoinOptions): Promise<string> {
    const own = ['--detach', '--runtime', runtime, '--node-ip', host.address, '--node-name', nodeName];
    return this.orch(host, ...line.trim().split(' ').slice(1), ...own);
  }

  /** Kills the programs of the cluster on a machine; its containers stay. */
  kill(host: Host): void {
    for (const program of ['orch', 'etcd']) {
      const identity = readIdentity(join(this.layout(host).run, `${program}.pid`));
      // A machine that is not a server has no etcd.
      if (identity !== undefined) process.kill(identity.pid, 'SIGKILL');
    }
  }

  /** Stops all machines, the first one last, and removes their data and their state in the kernel. */
  async destroy(): Promise<void> {
    for (const host of this.hosts) host.reconnect();
    for (const host of this.hosts.toReversed()) {
      const dir = this.dirOf(host);
      if (existsSync(this.layout(host).settings))
        await host.run(bin('orch'), ['down', '--delete', '--data-dir', dir], { timeoutMs });
      rmSync(dir, { recursive: true, force: true });
    }
    this.#network.destroy();
  }
}
