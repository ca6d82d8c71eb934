/** Separate etcds, which Prometheus watches as those of other clusters: their failures disturb no other test. */
import { kill } from 'node:process';
import type { Test } from 'tap';
import { trace } from '#test/e2e/alerts/tracer.js';
import { startEtcdCluster, type TestEtcd } from '#test/etcd.js';

export class Etcd {
  readonly #etcd: TestEtcd;

  private constructor(etcd: TestEtcd) {
    this.#etcd = etcd;
  }

  /** Starts a cluster of `size` members, which end with the test. */
  static async start(t: Test, size: number, args: readonly string[] = []): Promise<Etcd[]> {
    const members = await startEtcdCluster(size, args);
    t.teardown(async () => {
      for (const { pid } of members) if (pid !== undefined) kill(pid, 'SIGCONT');
      await Promise.all(members.map((member) => member.stop()));
    });
    return members.map((member) => new Etcd(member));
  }

  get pid(): number {
    return this.#etcd.pid ?? 0;
  }

  /** `host:port` of its metrics. */
  get target(): string {
    return new URL(this.#etcd.endpoint).host;
  }

  /** A call of its JSON gateway, with byte strings in base64. */
  async call<T>(path: string, body: object): Promise<T> {
    const answer = await fetch(`${this.#etcd.endpoint}/v3/${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(10_000),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  }

  put(key: string, value: string): Promise<unknown> {
    return this.call('kv/put', { key: btoa(key), value: btoa(value) });
  }

  /** Delays every fdatasync(2) of the member until the result is called. */
  slowDisk(ms: number): Promise<() => Promise<void>> {
    return trace(this.pid, ['-e', 'fdatasync', '-e', `inject=fdatasync:delay_exit=${ms * 1000}`]);
  }
}
