/** A node for an API server: a container runtime, and the node agent under test. */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import { ensureNodePki } from '#cluster/pki/cluster-pki.js';
import { startContainerd } from '#containerd/containerd.js';
import { cleanContainerd, removeAllSandboxes } from '#containerd/teardown.js';
import { GrpcCRI } from '#nodeagent/cri/grpc/client.js';
import { buildImageArchive, type ClusterImages, clusterImages } from '#nodeagent/images/busybox.js';
import { loadImageArchive } from '#nodeagent/images/load.js';
import { freePort } from '#test/free-port.js';
import { ended } from '#test/integration/daemons/api.js';
import type { Command, Lifetime, RunningApiServer } from '#test/integration/peers/implementations.js';

export interface RunningNode {
  readonly name: string;
  /** The directory for files of agent and runtime. */
  readonly folder: string;
  /** The machine's address, also of pods on the host network. */
  readonly address: string;
  readonly runtimeEndpoint: string;
  readonly runtimePid: number;
  readonly images: ClusterImages;
  /** The directory of static pods. */
  readonly manifests: string;
  /** Starts an agent; only one can run at a time. */
  startAgent(command: Command, ...more: string[]): ChildProcess;
}

const product = 'test';

/** The node's reported address; agents do not report loopback addresses by default. */
function machineAddress(): string {
  const addresses = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '127.0.0.1';
}

/** Starts a runtime with the cluster's images, which stops with its pods and agents at the end of `lifetime`. */
export async function startNode(lifetime: Lifetime, server: RunningApiServer): Promise<RunningNode> {
  const name = 'n1';
  const folder = await mkdtemp(join(tmpdir(), 'node-'));
  const address = machineAddress();
  const podCIDR = `10.${200 + Math.floor(Math.random() * 40)}.${Math.floor(Math.random() * 256)}.0/24`;
  const runtime = await startContainerd({ dir: folder, podCIDR, sandboxImage: clusterImages(product).pause });
  const agents: ChildProcess[] = [];
  lifetime.teardown(async () => {
    for (const agent of agents) {
      agent.kill('SIGKILL');
      await ended(agent);
    }
    const cri = new GrpcCRI({ endpoint: runtime.endpoint, clock });
    await removeAllSandboxes(cri);
    await cri.close();
    await runtime.stop();
    await cleanContainerd(folder);
    await rm(folder, { recursive: true, maxRetries: 20, retryDelay: 100 });
  });
  const archive = join(folder, 'images.tar');
  const images = await buildImageArchive({ file: archive, product });
  await loadImageArchive(archive, runtime.socket);
  const options = await agentOptions(server, { name, folder, address, runtimeEndpoint: runtime.endpoint });
  return {
    ...{ name, folder, address, images },
    runtimeEndpoint: runtime.endpoint,
    runtimePid: runtime.pid,
    manifests: manifestsIn(folder),
    startAgent: (command, ...more) => {
      const child = server.start(command, [...options, ...more]);
      agents.push(child);
      return child;
    },
  };
}

const manifestsIn = (folder: string) => join(folder, 'manifests');

/** The release's configuration format, which both implementations accept. */
async function agentOptions(
  server: RunningApiServer,
  node: Pick<RunningNode, 'name' | 'folder' | 'address' | 'runtimeEndpoint'>,
): Promise<string[]> {
  const { name: nodeName, folder, address, runtimeEndpoint } = node;
  const { authority } = server.pki;
  const request = { dialect, nodeName, names: [], ips: [address], now: clock.now() };
  const { client, serving } = await ensureNodePki(server.folder, authority, request);
  const config = await server.configFor(`${dialect.users.nodePrefix}${nodeName}`, client);
  return [
    `--kubeconfig=${config}`,
    `--hostname-override=${nodeName}`,
    `--node-ip=${address}`,
    `--address=${address}`,
    `--port=${await freePort()}`,
    '--healthz-port=0',
    '--read-only-port=0',
    `--root-dir=${join(folder, 'agent')}`,
    `--cert-dir=${join(folder, 'agent', 'pki')}`,
    `--tls-cert-file=${serving.certificateFile}`,
    `--tls-private-key-file=${serving.privateKeyFile}`,
    `--client-ca-file=${authority.certificateFile}`,
    '--anonymous-auth=false',
    '--authentication-token-webhook',
    '--authorization-mode=Webhook',
    `--container-runtime-endpoint=${runtimeEndpoint}`,
    `--pod-manifest-path=${manifestsIn(folder)}`,
    '--fail-swap-on=false',
    // Some machines do not allow nested cgroups.
    '--cgroups-per-qos=false',
    '--enforce-node-allocatable=',
  ];
}
