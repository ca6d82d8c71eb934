/** Converts the protocol's messages, as the channel decodes them, to the interface's types. */
import { ipFamily } from '#apimachinery/net/ip.js';
import type {
  Container,
  ContainerState,
  ContainerStats,
  ContainerStatus,
  FilesystemUsage,
  Image,
  Mount,
  PodSandbox,
  PodSandboxStatus,
} from '#nodeagent/cri/cri.js';
import { CRIError } from '#nodeagent/cri/errors.js';
import type { Message } from '#nodeagent/grpc/channel.js';

/** Limits of texts in the pod's status, since the API limits its size. */
const maxReasonLength = 1024;
const maxTextLength = 64 * 1024;

const message = (value: unknown): Message => (value ?? {}) as Message;
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const number = (value: unknown): number => Number(value ?? 0);
const strings = (value: unknown): Record<string, string> => (value ?? {}) as Record<string, string>;
export const list = (value: unknown): Message[] => (Array.isArray(value) ? (value as Message[]) : []);
/** Nanoseconds, as decimal text, to milliseconds. */
const milliseconds = (value: unknown): number => Number(BigInt(text(value) || '0') / 1_000_000n);
const wrapped = (value: unknown): number => number(message(value)['value']);

const containerStates: ReadonlySet<unknown> = new Set<ContainerState>([
  'CONTAINER_CREATED',
  'CONTAINER_RUNNING',
  'CONTAINER_EXITED',
]);
/** Unknown states arrive as numbers. */
const containerState = (value: unknown): ContainerState =>
  containerStates.has(value) ? (value as ContainerState) : 'CONTAINER_UNKNOWN';

/** A required field, and 1.24's error if it is missing. */
type Requirement = readonly [isMet: boolean, problem: string];

function requireAll(requirements: readonly Requirement[]): void {
  const [, problem] = requirements.find(([isMet]) => !isMet) ?? [];
  if (problem !== undefined) throw new CRIError('Unknown', problem);
}

function commonRequirements(m: Message): Requirement[] {
  return [
    [text(m['id']) !== '', 'status.Id is not set'],
    [m['metadata'] !== null && m['metadata'] !== undefined, 'status.Metadata is not set'],
    [milliseconds(m['createdAt']) !== 0, 'status.CreatedAt is not set'],
  ];
}

/** The ID in the response of a create call. Throws CRIError without it, since the object would be unusable. */
export function requiredID(value: unknown, what: string): string {
  const id = text(value);
  if (id === '') throw new CRIError('Unknown', `${what} is not set`);
  return id;
}

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

/** Throws CRIError if required fields are missing. */
export function decodeSandboxStatus(answer: unknown): PodSandboxStatus {
  const m = message(answer);
  const { name, namespace, uid } = message(m['metadata']);
  const isNamed = [name, namespace, uid].every((each) => text(each) !== '');
  const unnamed = 'metadata.Name, metadata.Namespace or metadata.Uid is not in metadata';
  requireAll([...commonRequirements(m), [isNamed, unnamed]]);
  const options = message(message(message(m['linux'])['namespaces'])['options']);
  return {
    ...decodeSandbox(m),
    ips: addresses(message(m['network'])),
    networkMode: options['network'] === 'NODE' ? 'NODE' : 'POD',
  };
}

/** The first address of each family, as pod statuses need them; empty if one is invalid, as in 1.24. */
function addresses({ ip, additionalIps }: Message): string[] {
  const all = [text(ip), ...list(additionalIps).map((each) => text(each['ip']))];
  if (all[0] === '' || all.some((address) => ipFamily(address) === 0)) return [];
  return all.filter((address, i) => all.findIndex((other) => ipFamily(other) === ipFamily(address)) === i);
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
    state: containerState(m['state']),
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

/** Throws CRIError if required fields are missing. */
export function decodeContainerStatus(answer: unknown): ContainerStatus {
  const m = message(answer);
  requireAll([
    ...commonRequirements(m),
    [text(message(m['metadata'])['name']) !== '', 'metadata.Name is not in metadata'],
    [imageName(m) !== '', 'status.Image is not set'],
    [text(m['imageRef']) !== '', 'status.ImageRef is not set'],
  ]);
  const { podSandboxId: _, ...container } = decodeContainer(m);
  return {
    ...container,
    startedAt: milliseconds(m['startedAt']),
    finishedAt: milliseconds(m['finishedAt']),
    exitCode: number(m['exitCode']),
    reason: text(m['reason']).slice(0, maxReasonLength),
    message: text(m['message']).slice(0, maxTextLength),
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

/** `config`: the text in the runtime's status, JSON with containerd. */
export function configuredSandboxImage(config: unknown): string | undefined {
  if (typeof config !== 'string') return undefined;
  try {
    const parsed: unknown = JSON.parse(config);
    const image = typeof parsed === 'object' && parsed !== null && 'sandboxImage' in parsed ? parsed.sandboxImage : '';
    return typeof image === 'string' && image !== '' ? image : undefined;
  } catch (error) {
    // Other runtimes have other formats.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
