/** etcds of their own, which Prometheus watches as those of other clusters: what befalls them disturbs nobody. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { kill } from 'node:process';
import type { Test } from 'tap';
import { realClock } from '#apimachinery/clock.js';
import { startEtcdCluster, type TestEtcd } from '#test/etcd.js';

export class Etcd {
  readonly #etcd: TestEtcd;

  private constructor(etcd: TestEtcd) {
    this.#etcd = etcd;
  }

  /** That many members of one cluster; they end with the test. */
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

  /** A call of its API by the gateway for JSON, with byte strings in base64. */
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

  /** Stands still in the middle of an fsync of a file of that folder, as with a disk that stalls. */
  async stallDisk(folder: 'wal' | 'snap', ms: number): Promise<void> {
    const deadline = realClock.monotonic() + 5000;
    while (realClock.monotonic() < deadline) {
      if (!this.#syncs(folder)) {
        await realClock.sleep(1);
        continue;
      }
      kill(this.pid, 'SIGSTOP');
      await realClock.sleep(ms);
      kill(this.pid, 'SIGCONT');
      return;
    }
  }

  /** Whether a thread is in fdatasync(2), which is call 75, of such a file now. */
  #syncs(folder: string): boolean {
    for (const task of readdirSync(`/proc/${this.pid}/task`)) {
      try {
        const [call, descriptor = ''] = readFileSync(`/proc/${this.pid}/task/${task}/syscall`, 'utf8').split(' ');
        if (call === '75' && readlinkSync(`/proc/${this.pid}/fd/${Number(descriptor)}`).includes(`/${folder}/`))
          return true;
      } catch {
        // The thread, or what it had open, is gone.
      }
    }
    return false;
  }
}
