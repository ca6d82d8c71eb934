/** What the daemons stand on: certificates, a store, container runtimes with images in them, and the client configs. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#apimachinery/clock.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/rest/kubeconfig.js';
import type { ApiServerArguments } from '#cmd/orch/arguments.js';
import type { Closable } from '#cmd/orch/closable.js';
import { type EtcdPki, ensureEtcdPki } from '#cmd/orch/etcd-pki.js';
import type { Layout } from '#cmd/orch/layout.js';
import { firstServiceAddress, hostAddresses, nodeRange } from '#cmd/orch/network.js';
import { etcdChild, etcdEndpoint } from '#cmd/orch/process/etcd.js';
import { stopRuntime } from '#cmd/orch/process/runtime.js';
import { RuntimeKeeper } from '#cmd/orch/process/runtime-keeper.js';
import { serviceAddressOf } from '#cmd/orch/process/service-address.js';
import { type ProgressSink, step } from '#cmd/orch/progress.js';
import type { ClusterSettings } from '#cmd/orch/settings.js';
import type { ForeignEtcd, StartOptions } from '#cmd/orch/start-options.js';
import type { Logger } from '#daemon/log/logger.js';
import { type ClusterPki, ensureClusterPki, ensureNodePki, type NodePki } from '#daemon/pki/cluster-pki.js';
import type { StoredKeyCertificate } from '#daemon/pki/ensure.js';
import { buildImageArchive } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';

export interface ClusterContext {
  readonly start: StartOptions;
  readonly settings: ClusterSettings;
  readonly layout: Layout;
  readonly dialect: Dialect;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: ProgressSink;
  /** What was started, in order. */
  readonly running: Closable[];
}

export interface NodeInfrastructure {
  readonly name: string;
  readonly pki: NodePki;
  /** Socket of the runtime; undefined for a simulated one. */
  readonly runtimeEndpoint: string | undefined;
  readonly podRange: string;
}

export interface Infrastructure {
  readonly pki: ClusterPki;
  /** Undefined for the store in memory. */
  readonly etcd: ForeignEtcd | undefined;
  readonly nodes: readonly NodeInfrastructure[];
  /** Where clients on this machine reach the API server. */
  readonly server: string;
  /** The pause image of sandboxes. */
  readonly pauseImage: string;
}

/** The images of a new cluster are the same in both dialects. */
const imageProduct = 'orch';

export async function startInfrastructure(context: ClusterContext): Promise<Infrastructure> {
  const { settings, layout, progress } = context;
  for (const folder of [layout.run, layout.logs, layout.pki]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  const server = `https://127.0.0.1:${settings.apiPort}`;
  const certificates = await step(progress, 'certificates', () => makeCertificates(context));
  writeClientConfigs(context, certificates.pki, certificates.nodes, server);
  const [etcd, runtimes] = await Promise.all([startStore(context, certificates.etcd), startRuntimes(context)]);
  return {
    pki: certificates.pki,
    etcd,
    server,
    pauseImage: runtimes.pauseImage,
    nodes: settings.nodes.map((name, index) => {
      const pki = certificates.nodes.get(name);
      if (pki === undefined) throw new Error(`node ${name} has no certificates`);
      return { name, pki, runtimeEndpoint: runtimes.endpoints[index], podRange: nodeRange(settings.podRange, index) };
    }),
  };
}

interface Certificates {
  readonly pki: ClusterPki;
  readonly etcd: EtcdPki;
  readonly nodes: ReadonlyMap<string, NodePki>;
}

async function makeCertificates({ settings, layout, dialect, clock, start }: ClusterContext): Promise<Certificates> {
  const now = clock.now();
  const addresses = hostAddresses();
  const bound = start.bindAddress === '0.0.0.0' || start.bindAddress === '::' ? [] : [start.bindAddress];
  const ips = [firstServiceAddress(settings.serviceRange), ...addresses, ...bound];
  if (settings.runtime === 'containerd') {
    // Pods reach the API server at the gateways of their bridges.
    ips.push(...settings.nodes.map((_, index) => firstServiceAddress(nodeRange(settings.podRange, index))));
  }
  const [pki, etcd] = await Promise.all([
    ensureClusterPki(layout.pki, { dialect, names: [], ips, now }),
    ensureEtcdPki(layout.pki, now),
  ]);
  const nodes = new Map<string, NodePki>();
  for (const nodeName of settings.nodes) {
    const options = { dialect, nodeName, names: [], ips: ['127.0.0.1', ...addresses], now };
    nodes.set(nodeName, await ensureNodePki(layout.pki, pki.authority, options));
  }
  return { pki, etcd, nodes };
}

function writeClientConfigs(
  { settings, layout, dialect }: ClusterContext,
  pki: ClusterPki,
  nodes: ReadonlyMap<string, NodePki>,
  server: string,
): void {
  const write = (file: string, userName: string, pair: StoredKeyCertificate) => {
    const config = singleContext({
      server,
      clusterName: dialect.product,
      userName,
      ca: pki.authority.certificate,
      clientCertificate: pair.certificate,
      clientKey: pair.privateKey,
    });
    writeFileSync(file, formatKubeconfig(config), { mode: 0o600 });
  };
  write(layout.clientConfig, dialect.users.admin, pki.admin);
  write(layout.componentConfig('controller-manager'), dialect.users.controllerManager, pki.controllerManager);
  write(layout.componentConfig('scheduler'), dialect.users.scheduler, pki.scheduler);
  for (const name of settings.nodes) {
    const node = nodes.get(name);
    if (node !== undefined)
      write(layout.componentConfig(`node-${name}`), `${dialect.users.nodePrefix}${name}`, node.client);
  }
}

async function startStore(context: ClusterContext, pki: EtcdPki): Promise<ForeignEtcd | undefined> {
  const { settings, start, layout, clock, log, progress, running } = context;
  if (settings.store === 'memory') return undefined;
  if (start.foreignEtcd !== undefined) return start.foreignEtcd;
  const { certificateFile: caFile } = pki.authority;
  const { certificateFile: certFile, privateKeyFile: keyFile } = pki.server;
  if (caFile === undefined || certFile === undefined || keyFile === undefined)
    throw new Error('certificates have no files');
  const etcd = etcdChild({
    dataDir: layout.etcd,
    runDir: layout.run,
    logFile: join(layout.logs, 'etcd.log'),
    clientPort: settings.etcdClientPort,
    peerPort: settings.etcdPeerPort,
    tls: { caFile, certFile, keyFile },
    clock,
    log,
  });
  await step(progress, 'etcd started', () => etcd.start());
  running.push(etcd);
  return {
    endpoints: [etcdEndpoint(settings.etcdClientPort)],
    caFile,
    certFile: pki.client.certificateFile,
    keyFile: pki.client.privateKeyFile,
  };
}

async function startRuntimes(
  context: ClusterContext,
): Promise<{ endpoints: (string | undefined)[]; pauseImage: string }> {
  const { settings, start, layout, clock, log, progress, running } = context;
  if (settings.runtime === 'simulated') return { endpoints: settings.nodes.map(() => undefined), pauseImage: '' };
  const archive = join(layout.root, 'images.tar');
  const images = await step(progress, 'images built', () =>
    buildImageArchive({ file: archive, product: imageProduct }),
  );
  if (start.foreignRuntime !== undefined) return { endpoints: [start.foreignRuntime], pauseImage: images.pause };
  const endpoints = await step(progress, 'container runtime', () =>
    Promise.all(
      settings.nodes.map(async (name, index) => {
        const dir = layout.runtime(name);
        mkdirSync(dir, { recursive: true });
        const podCIDR = nodeRange(settings.podRange, index);
        const keeper = new RuntimeKeeper({
          containerd: { dir, podCIDR, sandboxImage: images.pause, clock },
          clock,
          log,
        });
        const containerd = await keeper.start();
        running.push({
          async close() {
            await keeper.close();
            await stopRuntime(dir);
          },
        });
        await loadImageArchive(archive, containerd.socket);
        return containerd.endpoint;
      }),
    ),
  );
  const service = serviceAddressOf(settings);
  await service.open(log);
  running.push(service);
  return { endpoints, pauseImage: images.pause };
}

export function apiServerFiles(pki: ClusterPki): ApiServerArguments['files'] {
  return {
    ca: pki.authority.certificateFile,
    certificate: pki.apiServer.certificateFile,
    key: pki.apiServer.privateKeyFile,
    nodeAgentClientCertificate: pki.apiServerNodeAgentClient.certificateFile,
    nodeAgentClientKey: pki.apiServerNodeAgentClient.privateKeyFile,
    frontProxyCa: pki.frontProxyAuthority.certificateFile,
    frontProxyCertificate: pki.frontProxyClient.certificateFile,
    frontProxyKey: pki.frontProxyClient.privateKeyFile,
    serviceAccountKey: pki.serviceAccount.privateKeyFile,
    serviceAccountPublicKey: pki.serviceAccount.publicKeyFile,
  };
}

/** Where pods find the API server: the gateway of the first node's bridge; undefined where there are no real pods. */
export function advertisedAddress({ settings, start }: ClusterContext): string | undefined {
  if (settings.runtime !== 'containerd' || start.foreignRuntime !== undefined) return undefined;
  return firstServiceAddress(nodeRange(settings.podRange, 0));
}

/** Log files of one node's containers. */
export function podLogsDir(layout: Layout, node: string): string {
  return join(layout.node(node), 'logs');
}
