/** Database servers for tests: on free loopback ports, in temporary directories, ended by their pids. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '#test/free-port.js';

export interface TestDatabases {
  readonly folder: string;
  /** The address of a new database, in the form that kine takes. */
  address(name: string): string;
  stop(): Promise<void>;
}

/** The user of the servers, which refuse to run as root. */
const user = { uid: 65534, gid: 65534 };
const startTimeoutMs = 60_000;

const debianPostgres = '/usr/lib/postgresql';

/** Folder of PostgreSQL's newest programs; undefined without them. */
function postgresPrograms(): string | undefined {
  if (!existsSync(debianPostgres)) return undefined;
  const folders = readdirSync(debianPostgres).map((version) => join(debianPostgres, version, 'bin'));
  return folders.filter((folder) => existsSync(join(folder, 'initdb'))).at(-1);
}

const mariadb = '/usr/sbin/mariadbd';
/** Which its initialization calls; of another package. */
const printDefaults = '/usr/bin/my_print_defaults';

/** The servers that this machine can start. */
export const databases: Readonly<Record<string, (() => Promise<TestDatabases>) | undefined>> = {
  sqlite: startSqlite,
  postgresql: postgresPrograms() === undefined ? undefined : startPostgres,
  mysql: existsSync(mariadb) && existsSync(printDefaults) ? startMariadb : undefined,
};

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'database-'));
  chownSync(folder, user.uid, user.gid);
  chmodSync(folder, 0o700);
  return folder;
}

/** Files instead of a server. */
function startSqlite(): Promise<TestDatabases> {
  const folder = newFolder();
  const options = '_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate';
  return Promise.resolve({
    folder,
    address: (name) => `sqlite://${join(folder, name)}.db?${options}`,
    stop: async () => rmSync(folder, { recursive: true, force: true }),
  });
}

async function startPostgres(): Promise<TestDatabases> {
  const bin = postgresPrograms() ?? '';
  const folder = newFolder();
  const data = join(folder, 'data');
  const initialize = ['-D', data, '-U', 'kine', '--auth=trust', '--no-sync', '-E', 'UTF8'];
  execFileSync(join(bin, 'initdb'), initialize, { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const settings = ['-c', 'fsync=off', '-c', `unix_socket_directories=${folder}`];
  const args = ['-D', data, '-p', String(port), '-c', 'listen_addresses=127.0.0.1', ...settings];
  const stop = await startServer(join(bin, 'postgres'), args, folder);
  return { folder, address: (name) => `postgres://kine@127.0.0.1:${port}/${name}?sslmode=disable`, stop };
}

async function startMariadb(): Promise<TestDatabases> {
  const folder = newFolder();
  const data = join(folder, 'data');
  const own = ['--no-defaults', `--datadir=${data}`];
  const initialize = ['--auth-root-authentication-method=normal', '--skip-test-db', '--skip-name-resolve'];
  execFileSync('mariadb-install-db', [...own, ...initialize], { ...user, cwd: folder, stdio: 'ignore' });
  const port = await freePort();
  const args = [`--port=${port}`, '--bind-address=127.0.0.1', `--socket=${folder}/socket`, '--skip-grant-tables'];
  const listening = [...args, '--skip-networking=0', '--innodb-flush-log-at-trx-commit=0'];
  const stop = await startServer(mariadb, [...own, ...listening], folder);
  return { folder, address: (name) => `mysql://root@tcp(127.0.0.1:${port})/${name}`, stop };
}

/** What both servers write when they take connections, which is later than when they listen. */
const readyText = /ready (to accept|for) connections/;

/** Resolves when the server takes connections; returns its end. */
async function startServer(program: string, args: readonly string[], folder: string): Promise<() => Promise<void>> {
  const child = spawn(program, args, { ...user, cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    const fail = () => reject(new Error(`${program} did not start: ${output.slice(-4000)}`));
    const timer = setTimeout(fail, startTimeoutMs);
    timer.unref();
    child.once('exit', fail);
    child.once('error', fail);
    child.stderr.on('data', (text: Buffer) => {
      output = (output + text.toString()).slice(-100_000);
      if (!readyText.test(output)) return;
      clearTimeout(timer);
      resolve();
    });
  });
  /** For tests that end without calling `stop`. */
  const killNow = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.on('exit', killNow);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit');
      // Its data is not needed.
      child.kill('SIGKILL');
      await exited;
    }
    process.off('exit', killNow);
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await ready;
    return stop;
  } catch (error) {
    await stop();
    throw error;
  }
}
