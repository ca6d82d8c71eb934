/** Starts what the daemons need: certificates, client configs, the store, and container runtimes with images. */
import { mkdirSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { hostPort } from '#apimachinery/net/host-port.js';
import { ipFamily } from '#apimachinery/net/ip.js';
import { specialRange } from '#apimachinery/net/special-ip.js';
import { type CredentialFiles, formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import type { ClusterContext, Part } from '#cluster/config/cluster-context.js';
import { etcdEndpoint } from '#cluster/config/etcd-member.js';
import type { Layout } from '#cluster/config/layout.js';
import { type ClusterSettings, readSettings } from '#cluster/config/settings.js';
import type { ForeignEtcd } from '#cluster/config/start-options.js';
import { etcdChild } from '#cluster/etcd/etcd-child.js';
import { firstServiceAddress, hostAddresses, nodeRange, primaryRange } from '#cluster/machine/network.js';
import type { Membership } from '#cluster/members/etcd-membership.js';
import { clearTargets, writeTarget } from '#cluster/observe/targets.js';
import {
  type ClusterPki,
  ensureClientPki,
  ensureClusterPki,
  ensureNodePki,
  type NodePki,
} from '#cluster/pki/cluster-pki.js';
import { type EtcdPki, ensureEtcdPki } from '#cluster/pki/etcd-pki.js';
import type { Child } from '#cluster/process/child.js';
import { claimPort, portIsFree, randomPort } from '#cluster/process/ports.js';
import { replaceFile } from '#cluster/process/replace-file.js';
import { ensureAuditPolicy } from '#cluster/supervise/audit-policy.js';
import type { ContainerRuntimes, NodeRuntime } from '#cluster/supervise/container-runtimes.js';
import { recordArguments } from '#cluster/supervise/recorded-arguments.js';
import { serviceAddressOf } from '#cluster/supervise/service-address.js';
import { PartGroup } from '#cluster/supervise/stop-parts.js';
import { step } from '#cluster/terminal/progress.js';
import { lastPodCIDR } from '#containerd/pod-cidr.js';
import { findNodeAddresses } from '#nodeagent/node/address.js';
import { hostNetwork } from '#nodeagent/node/host-network.js';
import type { StoredKeyCertificate } from '#pki/ensure.js';

export interface NodeInfrastructure {
  readonly name: string;
  readonly pki: NodePki;
  /** Undefined for a simulated node. */
  readonly runtime: NodeRuntime | undefined;
  /** Image of sandboxes; undefined without real containers. */
  readonly pauseImage: string | undefined;
}

export interface Infrastructure {
  readonly pki: ClusterPki;
  /** Undefined for the store in memory. */
  readonly etcd: ForeignEtcd | undefined;
  /** The process of the cluster's own etcd. */
  readonly etcdProgram: Child | undefined;
  /** Addresses of this machine and of each of its nodes: one, or one of each family. */
  readonly nodeIPs: readonly string[];
  /** Resolves when the container runtimes are running. */
  readonly nodes: Promise<readonly NodeInfrastructure[]>;
  /** URL of the API server for clients on this machine. */
  readonly server: string;
}

const loopback = '127.0.0.1';
/** The usual port. Another cluster of this machine may use it. */
const etcdMetricsPort = 2381;

export async function startInfrastructure(context: ClusterContext): Promise<Infrastructure> {
  const { settings, layout, progress, running } = context;
  for (const folder of [layout.run, layout.logs, layout.pki]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  clearTargets(layout);
  if (settings.store !== 'memory') ensureAuditPolicy(layout.auditPolicy, context.dialect);
  const server = `https://127.0.0.1:${settings.apiPort}`;
  const nodeIPs = await addressesOfNodes(context);
  const certificates = await step(progress, 'certificates', () => makeCertificates(context, nodeIPs));
  writeClientConfigs(context, certificates, server);
  // The API server needs only the store, so the container runtimes start in parallel.
  const parts: Part[] = [];
  const runtimes = startRuntimes({ ...context, running: parts });
  const nodes = runtimes.then((started) =>
    settings.nodes.map((name, index) => {
      const pki = certificates.nodes.get(name);
      if (pki === undefined) throw new Error(`node ${name} has no certificates`);
      return {
        name,
        pki,
        runtime: started.runtimes[index],
        pauseImage: started.pauseImage,
      };
    }),
  );
  // A failure is handled where the nodes are awaited.
  nodes.catch(() => undefined);
  const runtimeParts = async () => {
    await runtimes.catch(() => undefined);
    const group = new PartGroup('container runtimes');
    for (const part of parts) group.push(part);
    return group;
  };
  const close = async () => (await runtimeParts()).close();
  const leave = async () => (await runtimeParts()).leave();
  const store = await startStore(context, certificates.etcd).finally(() =>
    running.push({ name: 'container runtimes', close, leave }),
  );
  return { pki: certificates.pki, etcd: store?.access, etcdProgram: store?.program, server, nodeIPs, nodes };
}

interface Certificates {
  readonly pki: ClusterPki;
  readonly etcd: EtcdPki;
  readonly nodes: ReadonlyMap<string, NodePki>;
  /** Certificate of the ingress controller, where it is a process of its own. */
  readonly ingress: StoredKeyCertificate | undefined;
}

function isAnyAddress(address: string): boolean {
  return address === '0.0.0.0' || address === '::';
}

/** URL of the API server for other machines. */
export function serverForOthers({ settings, start }: ClusterContext, nodeIPs: readonly string[]): string {
  const { advertiseAddress, bindAddress } = start;
  const address = advertiseAddress ?? (isAnyAddress(bindAddress) ? (nodeIPs[0] ?? '127.0.0.1') : bindAddress);
  return `https://${hostPort(address, settings.apiPort)}`;
}

/** Rejects when requested addresses are not this machine's. */
export async function addressesOfNodes({ start, log, progress }: ClusterContext): Promise<readonly string[]> {
  const { addresses, warning } = await findNodeAddresses({ nodeIPs: start.nodeIPs, nodeName: hostname() }, hostNetwork);
  if (warning !== undefined) {
    log.warn({ problem: warning }, 'nodes have no address that other machines can reach');
    if (start.nodeIPs.length === 0) progress({ step: 'node address', state: 'done', note: warning });
  }
  return addresses;
}

async function makeCertificates(
  { settings, layout, dialect, clock, start }: ClusterContext,
  nodeIPs: readonly string[],
): Promise<Certificates> {
  const now = clock.now();
  const addresses = [...new Set([...nodeIPs, ...hostAddresses()])];
  const bound = isAnyAddress(start.bindAddress) ? [] : [start.bindAddress];
  const advertised = start.advertiseAddress === undefined ? [] : [start.advertiseAddress];
  const ips = [firstServiceAddress(primaryRange(settings.serviceRange)), ...addresses, ...bound, ...advertised];
  if (settings.runtime === 'containerd') {
    // Pods reach the API server at the gateways of their bridges; a node that is created again gets another range.
    ips.push(...settings.nodes.map((_, index) => gateway(settings, index)));
    const last = await Promise.all(settings.nodes.map((name) => lastPodCIDR(layout.runtime(name))));
    ips.push(...last.flatMap((range) => (range === undefined ? [] : firstServiceAddress(range))));
  }
  const [pki, etcd] = await Promise.all([
    ensureClusterPki(layout.pki, { dialect, names: [], ips, now }),
    ensureEtcdPki(layout.pki, { now, ips: settings.server === undefined ? [] : [settings.server.address] }),
  ]);
  const nodes = new Map<string, NodePki>();
  for (const nodeName of settings.nodes) {
    const options = { dialect, nodeName, names: [], ips: ['127.0.0.1', ...addresses], now };
    nodes.set(nodeName, await ensureNodePki(layout.pki, pki.authority, options));
  }
  const ingress =
    start.ingress === undefined || !start.separate
      ? undefined
      : await ensureClientPki(layout.pki, pki.authority, { file: 'ingress', user: dialect.users.ingress, now });
  return { pki, etcd, nodes, ingress };
}

function writeClientConfigs(
  { settings, layout, dialect }: ClusterContext,
  { ingress, nodes, pki }: Certificates,
  server: string,
): void {
  const common = { server, clusterName: dialect.product };
  const admin = singleContext({
    ...{ ...common, userName: dialect.users.admin, ca: pki.authority.certificate },
    clientCertificate: pki.admin.certificate,
    clientKey: pki.admin.privateKey,
  });
  // This config embeds its certificates, since users copy it to other machines.
  replaceFile(layout.clientConfig, formatKubeconfig(admin));
  // These configs name certificate files, which daemons read again after a renewal.
  const write = (component: string, userName: string, pair: StoredKeyCertificate) => {
    const config = singleContext({ ...common, userName, files: filesOf(pki.authority, pair) });
    replaceFile(layout.componentConfig(component), formatKubeconfig(config));
  };
  write('controller-manager', dialect.users.controllerManager, pki.controllerManager);
  write('scheduler', dialect.users.scheduler, pki.scheduler);
  if (ingress !== undefined) write('ingress', dialect.users.ingress, ingress);
  for (const name of settings.nodes) {
    const node = nodes.get(name);
    if (node !== undefined) write(`node-${name}`, `${dialect.users.nodePrefix}${name}`, node.client);
  }
}

/** The fields of client configs that name certificate files. */
export function filesOf(authority: StoredKeyCertificate, pair: StoredKeyCertificate): CredentialFiles {
  const { certificateFile, privateKeyFile } = pair;
  if (authority.certificateFile === undefined || certificateFile === undefined || privateKeyFile === undefined)
    throw new Error('certificates have no files');
  return {
    'certificate-authority': authority.certificateFile,
    'client-certificate': certificateFile,
    'client-key': privateKeyFile,
  };
}

interface StartedStore {
  readonly access: ForeignEtcd;
  readonly program: Child | undefined;
}

async function startStore(context: ClusterContext, pki: EtcdPki): Promise<StartedStore | undefined> {
  const { settings, start, layout, clock, log, progress, running } = context;
  if (settings.store === 'memory') return undefined;
  if (start.foreignEtcd !== undefined) return { access: start.foreignEtcd, program: undefined };
  const { certificateFile: caFile } = pki.authority;
  const { certificateFile: certFile, privateKeyFile: keyFile } = pki.server;
  if (caFile === undefined || certFile === undefined || keyFile === undefined)
    throw new Error('certificates have no files');
  const metricsPort = await etcdMetricsPorts(layout);
  const membership = await membershipOf(context);
  const program = etcdChild({
    dataDir: layout.etcd,
    runDir: layout.run,
    logFile: join(layout.logs, 'etcd.log'),
    metricsPort,
    // Read again at each start: the cluster may have been opened to other servers.
    settings: () => readSettings(layout.settings) ?? settings,
    initialCluster: await membership?.enter(),
    onStart: (args) => recordArguments(layout, 'etcd', args),
    tls: { caFile, certFile, keyFile },
    clock,
    log,
  });
  await step(progress, 'etcd started', async () => {
    await program.start();
    running.push(program);
    await membership?.settle();
  });
  const access = {
    endpoints: [etcdEndpoint(settings.etcdClientPort)],
    caFile,
    certFile: pki.client.certificateFile,
    keyFile: pki.client.privateKeyFile,
  };
  return { access, program };
}

/** Returns a function that chooses the port of etcd's metrics at each start: the usual one where it is free. */
async function etcdMetricsPorts(layout: Layout): Promise<() => Promise<number>> {
  const hasUsual = await claimPort(etcdMetricsPort);
  return async () => {
    const isFree = hasUsual && (await portIsFree(etcdMetricsPort, loopback));
    const port = isFree ? etcdMetricsPort : await randomPort(loopback, Math.random);
    writeTarget(layout, 'etcd', `${loopback}:${port}`);
    return port;
  };
}

/** Loads the client for etcd's operators, which takes time and memory, only for several servers. */
async function membershipOf(context: ClusterContext): Promise<Membership | undefined> {
  const { server } = context.settings;
  if (server === undefined) return undefined;
  const { membership } = await import('#cluster/members/etcd-membership.js');
  return membership(context, server);
}

/** Loads the code for real containers only where it is needed: its gRPC client slows the start down. */
async function startRuntimes(context: ClusterContext): Promise<ContainerRuntimes> {
  const { runtime, nodes } = context.settings;
  if (runtime === 'simulated') return { runtimes: nodes.map(() => undefined), pauseImage: undefined };
  const { startContainerRuntimes } = await import('#cluster/supervise/container-runtimes.js');
  const started = await startContainerRuntimes(context);
  if (context.start.foreignRuntime === undefined) {
    const service = serviceAddressOf(context.settings);
    await service.open(context.log);
    context.running.push(service);
  }
  return started;
}

/** Gateway of the node that gets the range with that index. Throws RangeError when the pod range is too small. */
function gateway({ podRange }: ClusterSettings, index: number): string {
  return firstServiceAddress(nodeRange(primaryRange(podRange), index));
}

/**
 * Address of the API server for pods: the machine's, at which pods of other machines reach it too, else the gateway of the
 * first node's range. Undefined without real pods.
 */
export function advertisedAddress({ settings, start }: ClusterContext, nodeIPs: readonly string[]): string | undefined {
  if (settings.runtime !== 'containerd' || start.foreignRuntime !== undefined) return undefined;
  const own = isAnyAddress(start.bindAddress) ? nodeIPs : [start.bindAddress];
  const candidates = start.advertiseAddress === undefined ? own : [start.advertiseAddress];
  return (
    candidates.find((address) => ipFamily(address) === 4 && specialRange(address) === undefined) ?? gateway(settings, 0)
  );
}

/** Folder of the logs of a node's containers. */
export function podLogsDir(layout: Layout, node: string): string {
  return join(layout.node(node), 'logs');
}
