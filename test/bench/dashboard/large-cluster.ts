/** The API server of a large cluster in a process of its own, and what its changes cost. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { FromServer, ToServer } from '#test/bench/dashboard/messages.js';

export interface Write {
  readonly reason: string;
  readonly atMs: number;
}

export class LargeCluster {
  readonly kubeconfig: string;
  readonly port: number;
  readonly firstPod: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, ready: Extract<FromServer, { type: 'ready' }>) {
    this.#child = child;
    this.kubeconfig = ready.kubeconfig;
    this.port = ready.port;
    this.firstPod = ready.firstPod;
  }

  static async start(nodes: number, pods: number): Promise<LargeCluster> {
    const main = fileURLToPath(import.meta.resolve('#test/bench/dashboard/large-server.js'));
    const child = fork(main, [String(nodes), String(pods)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    const [message] = (await once(child, 'message')) as [FromServer];
    if (message.type !== 'ready') throw new Error('the server does not start');
    return new LargeCluster(child, message);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  churn(perSecond: number): void {
    this.#send({ type: 'churn', perSecond });
  }

  /** Changes a pod's status. Resolves when that is written. */
  changePod(n: number, reason: string): Promise<Write> {
    return this.#written({ type: 'pod', n, reason });
  }

  async stop(): Promise<void> {
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGTERM');
    await gone;
  }

  #send(message: ToServer): void {
    this.#child.send(message);
  }

  async #written(message: ToServer): Promise<Write> {
    const answer = once(this.#child, 'message') as Promise<[FromServer]>;
    this.#send(message);
    const [written] = await answer;
    if (written.type !== 'written') throw new Error('an unexpected message');
    return written;
  }
}
