/** A real kine over a database for tests, on a free loopback port, ended by its pid. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { realClock } from '#apimachinery/clock.js';
import { EtcdStore } from '#storage/etcd/etcd-store.js';
import { databases } from '#test/databases.js';
import type { TestEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';

/** As `hack/build-kine.sh` builds it; TEST_KINE names another one. */
export const kineProgram =
  process.env['TEST_KINE'] ?? fileURLToPath(new URL('../../.tools/etcds/kine/kine', import.meta.url));

/** Why there is no kine here; false if there is. */
export const noKine = existsSync(kineProgram) ? false : 'no kine on this machine: hack/build-kine.sh builds it';

export interface TestKine {
  /** `http://127.0.0.1:PORT` */
  readonly endpoint: string;
  readonly pid: number | undefined;
  /** Kills it; the database stays. */
  kill(): Promise<void>;
  /** Restarts it on the same port and database; resolves when it responds. */
  restart(): Promise<void>;
  /** Kills it; the database stays. */
  stop(): Promise<void>;
}

const startTimeoutMs = 60_000;
/** Compacts when asked, and up to the newest revision, which by default it does by itself. */
const compactsWhenAsked = ['--compact-interval=0s', '--compact-min-retain=0'];

/** Over the database of this address; resolves when it responds. */
export async function startKine(database: string, args: readonly string[] = compactsWhenAsked): Promise<TestKine> {
  const endpoint = `http://127.0.0.1:${await freePort()}`;
  const listening = [`--listen-address=${endpoint.replace('http', 'tcp')}`, '--metrics-bind-address=0'];
  let child: ChildProcess | undefined;
  /** For tests that end without calling `stop`. */
  const killNow = () => child?.kill('SIGKILL');
  process.on('exit', killNow);
  const kill = async () => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const exited = once(ending, 'exit');
    ending.kill('SIGKILL');
    await exited;
  };
  const start = async () => {
    const stdio: StdioOptions = ['ignore', 'ignore', 'pipe'];
    const starting = spawn(kineProgram, [...listening, `--endpoint=${database}`, ...args], { stdio });
    child = starting;
    let output = '';
    starting.stderr?.on('data', (text: Buffer) => {
      output = (output + text.toString()).slice(-4000);
    });
    await healthy(endpoint, starting, () => output);
  };
  const stop = async () => {
    process.off('exit', killNow);
    await kill();
  };
  try {
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    endpoint,
    get pid() {
      return child?.pid;
    },
    kill,
    async restart() {
      await kill();
      await start();
    },
    stop,
  };
}

async function healthy(endpoint: string, child: ChildProcess, output: () => string): Promise<void> {
  const store = new EtcdStore({ endpoints: [endpoint], clock: realClock, random: Math.random });
  try {
    for (const giveUpAt = Date.now() + startTimeoutMs; ; await realClock.sleep(50)) {
      try {
        return await store.health();
      } catch (cause) {
        if (child.exitCode === null && child.signalCode === null && Date.now() < giveUpAt) continue;
        throw new Error(`kine did not start: ${output()}`, { cause });
      }
    }
  } finally {
    await store.close();
  }
}

/** kine in the place of an etcd, with a database of its own. */
export async function startKineAsEtcd(database: string): Promise<TestEtcd> {
  const start = databases[database];
  if (start === undefined) throw new Error(`no ${database} on this machine`);
  const servers = await start();
  try {
    const kine = await startKine(servers.address('objects'));
    const dataDir = servers.folder;
    const stop = async () => {
      await kine.stop();
      await servers.stop();
    };
    return { ...kine, dataDir, pid: kine.pid, stop };
  } catch (error) {
    await servers.stop();
    throw error;
  }
}
