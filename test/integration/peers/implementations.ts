/**
 * An API server, a controller manager, a scheduler and a node agent as processes, each from this project or from another
 * implementation of the same release. Their options are the same in the `kubernetes` dialect.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { loadKubeconfig } from '#client/kubeconfig/load.js';
import { Connection } from '#client/rest/connection.js';
import type { RestClient } from '#client/rest/rest-client.js';
import { type ClusterPki, ensureClusterPki } from '#cluster/pki/cluster-pki.js';
import type { KeyCertificate } from '#pki/certificate.js';
import { startEtcd } from '#test/etcd.js';
import { freePort } from '#test/free-port.js';
import { ended } from '#test/integration/daemons/api.js';

/** A program and its first arguments. */
export type Command = readonly [program: string, ...args: string[]];

export function own(daemon: 'orch-apiserver' | 'orch-controller-manager' | 'orch-scheduler' | 'nodeagent'): Command {
  const main = fileURLToPath(import.meta.resolve(`#cmd/${daemon}/main.js`));
  return [process.execPath, main, `--dialect=${dialect.name}`];
}

/** The program named by an environment variable; undefined if empty. */
export function peer(variable: string): Command | undefined {
  const path = process.env[variable] ?? '';
  return path === '' ? undefined : [path];
}

export interface RunningApiServer {
  readonly pid: number;
  /** A temporary directory. */
  readonly folder: string;
  readonly pki: ClusterPki;
  /** The client configuration of etcd. */
  readonly etcd: string;
  /** The administrator's client. */
  readonly client: RestClient;
  /** Client configuration files. */
  readonly adminConfig: string;
  readonly schedulerConfig: string;
  /** Starts a controller manager. */
  startManager(command: Command, ...more: string[]): ChildProcess;
  /** Starts a scheduler that serves metrics without authorization at the loopback port; 0: no metrics. */
  startScheduler(command: Command, port: number, ...more: string[]): ChildProcess;
  /** Starts any other daemon. */
  start(command: Command, args: readonly string[]): ChildProcess;
  /** The path of the user's client configuration. */
  configFor(userName: string, credentials: KeyCertificate): Promise<string>;
  /** A client with its own connection and the media type. */
  connect(contentType: string): RestClient;
  /** The end of the daemons' logs. */
  log(): string;
}

/** Registers cleanups, which run in reverse order. */
export type Lifetime = Pick<Test, 'teardown'>;

/** Runs over a real etcd until the end of `lifetime`. Resolves when it is ready. */
export async function startApiServer(lifetime: Lifetime, command: Command): Promise<RunningApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'peers-'));
  lifetime.teardown(() => rm(folder, { recursive: true, force: true }));
  const etcd = await startEtcd();
  lifetime.teardown(() => etcd.stop());
  const pki = await ensureClusterPki(folder, { dialect, names: [], ips: [], now: clock.now() });
  const children: ChildProcess[] = [];
  let log = '';
  const start = ([program, ...args]: Command, more: readonly string[]) => {
    const child = spawn(program, [...args, ...more], { stdio: ['ignore', 'ignore', 'pipe'] });
    child.stderr?.on('data', (part: Buffer) => {
      log = (log + part.toString()).slice(-200_000);
    });
    children.unshift(child);
    return child;
  };
  // If a test ends without teardown.
  const killNow = () => {
    for (const child of children) child.kill('SIGKILL');
  };
  process.on('exit', killNow);
  lifetime.teardown(async () => {
    killNow();
    // Do not wait for a process that could not be started.
    await Promise.all(children.filter(({ pid }) => pid !== undefined).map(ended));
    process.off('exit', killNow);
  });

  const port = await freePort();
  const server = start(command, apiServerOptions(pki, { folder, etcd: etcd.endpoint, port }));
  const config = async (userName: string, { certificate, privateKey }: KeyCertificate) => {
    const user = { userName, clientCertificate: certificate, clientKey: privateKey };
    const path = join(folder, `${userName.replaceAll(':', '-')}.conf`);
    const where = { server: `https://127.0.0.1:${port}`, clusterName: 'test', ca: pki.authority.certificate };
    await writeFile(path, formatKubeconfig(singleContext({ ...where, ...user })));
    await chmod(path, 0o600);
    return path;
  };
  const adminConfig = await config('admin', pki.admin);
  const admin = await loadKubeconfig(adminConfig, { clock });
  const manager = managerOptions(pki, await config('manager', pki.controllerManager));
  const schedulerConfig = await config('scheduler', pki.scheduler);
  const connect = (contentType?: string) => {
    const type = contentType === undefined ? {} : { contentType };
    const connection = new Connection(admin, { dialect, clock, program: 'test', qps: 0, burst: 1, ...type });
    lifetime.teardown(() => connection.close());
    return connection.client('test');
  };
  const client = connect();
  await answering(client, () => log);
  return {
    pid: server.pid ?? 0,
    folder,
    pki,
    start,
    configFor: config,
    etcd: etcd.endpoint,
    client,
    adminConfig,
    schedulerConfig,
    connect,
    startManager: (program, ...more) => start(program, [...manager, ...more]),
    startScheduler: (program, schedulerPort, ...more) =>
      start(program, [...schedulerOptions(schedulerConfig, folder, schedulerPort), ...more]),
    log: () => log,
  };
}

function apiServerOptions(
  pki: ClusterPki,
  { folder, etcd, port }: { readonly folder: string; readonly etcd: string; readonly port: number },
): string[] {
  return [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    `--secure-port=${port}`,
    `--cert-dir=${folder}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    '--authorization-mode=Node,RBAC',
    '--enable-bootstrap-token-auth',
    '--allow-privileged',
    `--client-ca-file=${pki.authority.certificateFile}`,
    `--kubelet-client-certificate=${pki.apiServerNodeAgentClient.certificateFile}`,
    `--kubelet-client-key=${pki.apiServerNodeAgentClient.privateKeyFile}`,
    '--kubelet-preferred-address-types=InternalIP',
    `--tls-cert-file=${pki.apiServer.certificateFile}`,
    `--tls-private-key-file=${pki.apiServer.privateKeyFile}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${pki.serviceAccount.privateKeyFile}`,
    `--service-account-key-file=${pki.serviceAccount.publicKeyFile}`,
  ];
}

function managerOptions({ authority, serviceAccount }: ClusterPki, config: string): string[] {
  return [
    `--kubeconfig=${config}`,
    '--secure-port=0',
    '--controllers=*,bootstrapsigner,tokencleaner',
    '--use-service-account-credentials',
    `--root-ca-file=${authority.certificateFile}`,
    `--service-account-private-key-file=${serviceAccount.privateKeyFile}`,
    `--cluster-signing-cert-file=${authority.certificateFile}`,
    `--cluster-signing-key-file=${authority.privateKeyFile}`,
    '--kube-api-qps=1000',
    '--kube-api-burst=1000',
  ];
}

function schedulerOptions(config: string, folder: string, port: number): string[] {
  return [
    `--kubeconfig=${config}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    `--cert-dir=${folder}`,
    '--authorization-always-allow-paths=/metrics',
    '--kube-api-qps=10000',
    '--kube-api-burst=10000',
  ];
}

/** Long, for busy machines. */
const readyMs = 240_000;

async function answering(client: RestClient, log: () => string): Promise<void> {
  let last: unknown;
  for (const deadline = clock.monotonic() + readyMs; clock.monotonic() < deadline; await clock.sleep(200)) {
    try {
      await (await client.open({ method: 'GET', path: '/readyz' })).body[Symbol.asyncIterator]().return?.(undefined);
      return;
    } catch (error) {
      last = error;
    }
  }
  throw new Error(`the API server is not ready: ${log().slice(-4000)}`, { cause: last });
}
