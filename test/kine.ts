/** A real kine over a database for tests, on a free loopback port, ended by its pid. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { freePort } from '#test/free-port.js';

/** As `hack/build-kine.sh` builds it; TEST_KINE names another one. */
export const kineProgram =
  process.env['TEST_KINE'] ?? fileURLToPath(new URL('../../.tools/etcds/kine/kine', import.meta.url));

/** Why there is no kine here; false if there is. */
export const noKine = existsSync(kineProgram) ? false : 'no kine on this machine: hack/build-kine.sh builds it';

export interface TestKine {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  /** Stops it; the database stays. */
  stop(): Promise<void>;
}

const startTimeoutMs = 60_000;
/** Compacts when asked, and up to the newest revision, which by default it does by itself. */
const compactsWhenAsked = ['--compact-interval=0s', '--compact-min-retain=0'];

/** Over the database of this address; resolves when it responds. */
export async function startKine(database: string, args: readonly string[] = compactsWhenAsked): Promise<TestKine> {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const all = [`--listen-address=${endpoint.replace('http', 'tcp')}`, `--endpoint=${database}`, ...args];
  const child = spawn(kineProgram, [...all, '--metrics-bind-address=0'], { stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  child.stderr.on('data', (text: Buffer) => {
    output = (output + text.toString()).slice(-4000);
  });
  /** For tests that end without calling `stop`. */
  const killNow = () => child.kill('SIGKILL');
  process.on('exit', killNow);
  const stop = async () => {
    process.off('exit', killNow);
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  const store = new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
  try {
    const giveUpAt = Date.now() + startTimeoutMs;
    for (;;) {
      try {
        await store.health();
        return { endpoint, stop };
      } catch (error) {
        if (child.exitCode !== null || child.signalCode !== null || Date.now() > giveUpAt) {
          await stop();
          throw new Error(`kine did not start: ${output}`, { cause: error });
        }
      }
      await realClock.sleep(50);
    }
  } finally {
    await store.close();
  }
}
