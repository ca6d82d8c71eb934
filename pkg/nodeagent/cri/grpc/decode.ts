/** From the protocol's messages, as the channel decodes them, to the interface's types. */
import type {
  Container,
  ContainerStats,
  ContainerStatus,
  FilesystemUsage,
  Image,
  Mount,
  PodSandbox,
  PodSandboxStatus,
} from '#nodeagent/cri/cri.js';
import type { Message } from '#nodeagent/cri/grpc/channel.js';

const message = (value: unknown): Message => (value ?? {}) as Message;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => Number(value ?? 0);
const strings = (value: unknown): Record<string, string> => (value ?? {}) as Record<string, string>;
export const list = (value: unknown): Message[] => (Array.isArray(value) ? (value as Message[]) : []);
/** Nanoseconds, as decimal text, to milliseconds. */
const milliseconds = (value: unknown): number => Number(BigInt(text(value) || '0') / 1_000_000n);
const wrapped = (value: unknown): number => number(message(value)['value']);

export function decodeSandbox(m: Message): PodSandbox {
  const metadata = message(m['metadata']);
  return {
    id: text(m['id']),
    metadata: {
      name: text(metadata['name']),
      uid: text(metadata['uid']),
      namespace: text(metadata['namespace']),
      attempt: number(metadata['attempt']),
    },
    state: m['state'] === 'SANDBOX_READY' ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY',
    createdAt: milliseconds(m['createdAt']),
    labels: strings(m['labels']),
    annotations: strings(m['annotations']),
  };
}

export function decodeSandboxStatus(m: Message): PodSandboxStatus {
  const network = message(m['network']);
  const options = message(message(message(m['linux'])['namespaces'])['options']);
  const primary = text(network['ip']);
  return {
    ...decodeSandbox(m),
    ips: primary === '' ? [] : [primary, ...list(network['additionalIps']).map((ip) => text(ip['ip']))],
    networkMode: options['network'] === 'NODE' ? 'NODE' : 'POD',
  };
}

const imageName = (m: Message): string => text(message(m['image'])['image']);

export function decodeContainer(m: Message): Container {
  const metadata = message(m['metadata']);
  return {
    id: text(m['id']),
    podSandboxId: text(m['podSandboxId']),
    metadata: { name: text(metadata['name']), attempt: number(metadata['attempt']) },
    image: imageName(m),
    imageRef: text(m['imageRef']),
    state: m['state'] as Container['state'],
    createdAt: milliseconds(m['createdAt']),
    labels: strings(m['labels']),
    annotations: strings(m['annotations']),
  };
}

function decodeMount(m: Message): Mount {
  return {
    containerPath: text(m['containerPath']),
    hostPath: text(m['hostPath']),
    readonly: m['readonly'] === true,
    propagation: m['propagation'] as Mount['propagation'],
  };
}

export function decodeContainerStatus(m: Message): ContainerStatus {
  const { podSandboxId: _, ...container } = decodeContainer(m);
  return {
    ...container,
    startedAt: milliseconds(m['startedAt']),
    finishedAt: milliseconds(m['finishedAt']),
    exitCode: number(m['exitCode']),
    reason: text(m['reason']),
    message: text(m['message']),
    mounts: list(m['mounts']).map(decodeMount),
    logPath: text(m['logPath']),
  };
}

export function decodeImage(m: Message): Image {
  const image: Image = {
    id: text(m['id']),
    repoTags: (m['repoTags'] ?? []) as string[],
    repoDigests: (m['repoDigests'] ?? []) as string[],
    sizeBytes: number(m['size']),
    username: text(m['username']),
    pinned: m['pinned'] === true,
  };
  if (m['uid'] !== null && m['uid'] !== undefined) image.uid = wrapped(m['uid']);
  return image;
}

export function decodeFilesystem(m: Message): FilesystemUsage {
  return {
    timestamp: milliseconds(m['timestamp']),
    mountpoint: text(message(m['fsId'])['mountpoint']),
    usedBytes: wrapped(m['usedBytes']),
    inodesUsed: wrapped(m['inodesUsed']),
  };
}

export function decodeStats(m: Message): ContainerStats {
  const attributes = message(m['attributes']);
  const metadata = message(attributes['metadata']);
  const cpu = message(m['cpu']);
  const memory = message(m['memory']);
  const layer = message(m['writableLayer']);
  return {
    id: text(attributes['id']),
    name: text(metadata['name']),
    attempt: number(metadata['attempt']),
    labels: strings(attributes['labels']),
    timestamp: milliseconds(cpu['timestamp']),
    usageCoreNanoSeconds: wrapped(cpu['usageCoreNanoSeconds']),
    workingSetBytes: wrapped(memory['workingSetBytes']),
    usageBytes: wrapped(memory['usageBytes']),
    rssBytes: wrapped(memory['rssBytes']),
    writableLayerUsedBytes: wrapped(layer['usedBytes']),
    writableLayerInodesUsed: wrapped(layer['inodesUsed']),
  };
}
