/** Why containers of a pod do not run: images, configuration, crashes. */
import { configmaps, secrets } from '#api/core/v1/resources.gen.js';
import type { Container, ContainerStateTerminated, ContainerStatus, Event, Pod } from '#api/core/v1/types.gen.js';
import { type Evidence, type Finding, quote, type Remedy, type Subject } from '#insight/inquiry/finding.js';
import type { Inquiry } from '#insight/inquiry/inquiry.js';
import { eventEvidence, finding, namespaceFlag, specEvidence, statusEvidence } from '#insight/questions/parts.js';
import { missingReference, type Reference } from '#insight/questions/references.js';

/** Lines of a log that are quoted. */
const quotedLines = 10;

/** Findings of the first init container that fails, or of all containers. */
export async function containerFindings(inquiry: Inquiry, pod: Pod, subject: Subject): Promise<readonly Finding[]> {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const specs = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  for (const isInit of [true, false]) {
    const all: Finding[] = [];
    for (const status of isInit ? initContainerStatuses : containerStatuses) {
      const spec = specs.find(({ name }) => name === status.name);
      const problem = await containerFinding(inquiry, pod, { subject, status, spec, isInit });
      if (problem !== undefined) all.push(problem);
    }
    if (all.length > 0) return all;
  }
  return [];
}

interface Case {
  readonly subject: Subject;
  readonly status: ContainerStatus;
  readonly spec: Container | undefined;
  readonly isInit: boolean;
}

async function containerFinding(inquiry: Inquiry, pod: Pod, each: Case): Promise<Finding | undefined> {
  const { state = {}, lastState = {} } = each.status;
  const waiting = state.waiting?.reason ?? '';
  if (imageReasons.has(waiting)) return imageFinding(inquiry, each, waiting, state.waiting?.message ?? '');
  if (waiting === 'CreateContainerConfigError') return configFinding(inquiry, pod, each);
  if (startReasons.has(waiting)) return startFinding(each, waiting, state.waiting?.message ?? '');
  if (state.running !== undefined) return undefined;
  const ended = state.terminated ?? (waiting === 'CrashLoopBackOff' ? lastState.terminated : undefined);
  if (ended === undefined) return undefined;
  if (ended.exitCode === 0 && (each.isInit || waiting !== 'CrashLoopBackOff')) return undefined;
  return crashFinding(inquiry, pod, each, ended);
}

const imageReasons = new Set([
  'ErrImagePull',
  'ImagePullBackOff',
  'InvalidImageName',
  'ErrImageNeverPull',
  'ImageInspectError',
  'RegistryUnavailable',
]);
const startReasons = new Set([
  'CreateContainerError',
  'RunContainerError',
  'StartError',
  'PreStartHookError',
  'PostStartHookError',
]);

const nameOf = ({ status, isInit }: Case) => `${isInit ? 'Init container' : 'Container'} ${status.name}`;

async function imageFinding(inquiry: Inquiry, each: Case, waiting: string, message: string): Promise<Finding> {
  const { subject, status, spec } = each;
  const image = spec?.image ?? status.image;
  const events = await inquiry.events(subject);
  // The status of a pod that backs off no longer has the registry's answer.
  const failure = events.find(
    ({ reason, message: text = '' }) =>
      reason === 'Failed' && text.startsWith('Failed to pull image') && text.includes(image),
  );
  const text = `${failure?.message ?? ''} ${message}`;
  const kind = waiting === 'InvalidImageName' || waiting === 'ErrImageNeverPull' ? waiting : imageKind(text);
  const { summary, action } = imageKinds[kind];
  return finding({
    subject,
    reason: kind,
    summary: `${nameOf(each)}: ${summary(image)}`,
    evidence: [
      specEvidence(`spec.containers[${status.name}].image`, image),
      failure === undefined ? statusEvidence(`state.waiting.message`, message) : eventEvidence(failure),
    ],
    remedies: [{ action }],
  });
}

type ImageKind =
  | 'ImageMissing'
  | 'ImageForbidden'
  | 'RegistryUnreachable'
  | 'ImagePullFailed'
  | 'InvalidImageName'
  | 'ErrImageNeverPull';

const imageKinds: Readonly<
  Record<ImageKind, { readonly summary: (image: string) => string; readonly action: string }>
> = {
  ImageMissing: {
    summary: (image) => `image ${image} does not exist in its registry.`,
    action: 'Correct the name or the tag of the image, or push it.',
  },
  ImageForbidden: {
    summary: (image) => `the registry refuses to give image ${image}.`,
    action: 'Give the pod or its service account an imagePullSecret with credentials for the registry.',
  },
  RegistryUnreachable: {
    summary: (image) => `the registry of image ${image} cannot be reached from the node.`,
    action: 'Check name resolution, proxies and firewalls between the node and the registry.',
  },
  ImagePullFailed: {
    summary: (image) => `image ${image} cannot be pulled.`,
    action: 'Check the image and its registry.',
  },
  InvalidImageName: {
    summary: (image) => `${image} is no valid name of an image.`,
    action: 'Correct the name of the image.',
  },
  ErrImageNeverPull: {
    summary: (image) => `image ${image} is not on the node, and imagePullPolicy is Never.`,
    action: 'Load the image on the node, or set imagePullPolicy to IfNotPresent.',
  },
};

function imageKind(text: string): ImageKind {
  if (/not found|manifest unknown|does not exist|NotFound|name unknown/i.test(text)) return 'ImageMissing';
  if (/unauthorized|authentication|denied|forbidden|authorization failed|\b401\b|\b403\b/i.test(text))
    return 'ImageForbidden';
  if (
    /no such host|dial tcp|i\/o timeout|connection refused|deadline exceeded|TLS handshake|x509|EOF|server misbehaving|lookup /i.test(
      text,
    )
  )
    return 'RegistryUnreachable';
  return 'ImagePullFailed';
}

/** A ConfigMap or Secret for the environment that is missing, or a user that must not run. */
async function configFinding(inquiry: Inquiry, pod: Pod, each: Case): Promise<Finding> {
  const { subject, status, spec } = each;
  const message = status.state?.waiting?.message ?? '';
  for (const reference of referencesOf(spec, pod.metadata.namespace ?? '')) {
    const problem = await missingReference(inquiry, subject, reference);
    if (problem !== undefined)
      return { ...problem, summary: `${nameOf(each)} cannot be configured: ${problem.summary}` };
  }
  const isRoot = /runAsNonRoot/.test(message);
  return finding({
    subject,
    reason: isRoot ? 'RunsAsRoot' : 'ContainerConfigInvalid',
    summary: isRoot
      ? `${nameOf(each)} must not run as root, but its image does.`
      : `${nameOf(each)} cannot be configured.`,
    evidence: [statusEvidence('state.waiting.message', message)],
    remedies: isRoot
      ? [{ action: 'Set securityContext.runAsUser to a number above 0, or use an image with a numeric user.' }]
      : [],
  });
}

function referencesOf(spec: Container | undefined, namespace: string): Reference[] {
  const all: Reference[] = [];
  for (const { name, valueFrom: { configMapKeyRef, secretKeyRef } = {} } of spec?.env ?? []) {
    const at = `env[${name}].valueFrom`;
    if (configMapKeyRef !== undefined && configMapKeyRef.optional !== true)
      all.push({ type: configmaps, name: configMapKeyRef.name ?? '', namespace, keys: [configMapKeyRef.key], at });
    if (secretKeyRef !== undefined && secretKeyRef.optional !== true)
      all.push({ type: secrets, name: secretKeyRef.name ?? '', namespace, keys: [secretKeyRef.key], at });
  }
  for (const { configMapRef, secretRef } of spec?.envFrom ?? []) {
    if (configMapRef !== undefined && configMapRef.optional !== true)
      all.push({ type: configmaps, name: configMapRef.name ?? '', namespace, keys: [], at: 'envFrom' });
    if (secretRef !== undefined && secretRef.optional !== true)
      all.push({ type: secrets, name: secretRef.name ?? '', namespace, keys: [], at: 'envFrom' });
  }
  return all;
}

function startFinding(each: Case, waiting: string, message: string): Finding {
  const isProgram = /executable file not found|no such file or directory|permission denied/.test(message);
  return finding({
    subject: each.subject,
    reason: isProgram ? 'ProgramMissing' : 'ContainerDoesNotStart',
    summary: isProgram
      ? `${nameOf(each)}: the image does not have the program that the command names, or it may not be executed.`
      : `${nameOf(each)} cannot be started (${waiting}).`,
    evidence: [
      statusEvidence('state.waiting.message', message),
      each.spec?.command === undefined ? undefined : specEvidence('command', each.spec.command.join(' ')),
    ],
    remedies: [{ action: isProgram ? 'Correct the command, or the image.' : 'Check the message of the runtime.' }],
  });
}

async function crashFinding(inquiry: Inquiry, pod: Pod, each: Case, ended: ContainerStateTerminated): Promise<Finding> {
  const { subject, status, spec } = each;
  const isLater = status.state?.terminated === undefined;
  const lines = (await inquiry.logTail(pod, status.name, isLater && status.restartCount > 0)).slice(-quotedLines);
  const events = await inquiry.events(subject);
  const { reason, summary, remedies, evidence = [] } = crashKind(each, ended, probeKill(events, status.name));
  const times = status.restartCount > 0 ? `, ${status.restartCount + 1} times so far` : '';
  const output: Evidence[] =
    lines.length === 0 ? [] : [{ source: 'log', at: status.name, text: quote(lines.join('\n')) }];
  return finding({
    ...{ subject, reason, remedies },
    summary: `${nameOf(each)} ${summary}${times}.`,
    evidence: [
      statusEvidence('state.terminated', terminationText(ended)),
      statusEvidence('state.terminated.message', ended.message),
      ...evidence,
      ...output,
      spec?.command === undefined || reason !== 'ProgramMissing'
        ? undefined
        : specEvidence('command', spec.command.join(' ')),
    ],
  });
}

function terminationText({ exitCode, signal, reason = '' }: ContainerStateTerminated): string {
  return `${reason === '' ? '' : `${reason}, `}exit code ${exitCode}${signal === undefined || signal === 0 ? '' : `, signal ${signal}`}`;
}

/** The event of a probe that made the agent end the container. */
function probeKill(events: readonly Event[], container: string): Event | undefined {
  const isKill = events.some(
    ({ reason, message = '' }) => reason === 'Killing' && message.includes(`Container ${container} failed`),
  );
  if (!isKill) return undefined;
  return events.find(
    ({ reason, message = '', involvedObject }) =>
      reason === 'Unhealthy' &&
      /^(?:Liveness|Startup)/.test(message) &&
      (involvedObject.fieldPath ?? container).includes(container),
  );
}

interface Crash {
  readonly reason: string;
  /** Follows the container's name. */
  readonly summary: string;
  readonly remedies: readonly Remedy[];
  readonly evidence?: readonly Evidence[];
}

function crashKind({ subject, spec, status }: Case, ended: ContainerStateTerminated, probe: Event | undefined): Crash {
  const logs = {
    action: 'Read what it printed before its end.',
    command: `logs ${subject.name}${namespaceFlag(subject)} -c ${status.name}${status.restartCount > 0 ? ' --previous' : ''}`,
  };
  if (ended.reason === 'OOMKilled') {
    const limit = spec?.resources?.limits?.['memory'];
    return {
      reason: 'OutOfMemory',
      summary:
        limit === undefined
          ? 'was killed, because the node ran out of memory'
          : `was killed at its memory limit of ${limit}`,
      remedies: [
        {
          action:
            limit === undefined
              ? 'Set a memory request that covers its use.'
              : 'Raise its memory limit, or lower its memory use.',
        },
      ],
      evidence: limit === undefined ? [] : [specEvidence('resources.limits.memory', limit)],
    };
  }
  if (probe !== undefined) {
    const name = (probe.message ?? '').startsWith('Startup') ? 'startup' : 'liveness';
    return {
      reason: 'ProbeKilled',
      summary: `was restarted, because its ${name} probe failed`,
      remedies: [
        {
          action: `Correct the ${name} probe, or give it more time (initialDelaySeconds, timeoutSeconds, failureThreshold).`,
        },
        logs,
      ],
      evidence: [eventEvidence(probe)],
    };
  }
  if (
    ended.reason === 'ContainerCannotRun' ||
    ended.reason === 'StartError' ||
    ended.exitCode === 127 ||
    ended.exitCode === 126
  )
    return {
      reason: 'ProgramMissing',
      summary:
        ended.exitCode === 126
          ? 'has a program that may not be executed'
          : 'has a command that does not exist in its image',
      remedies: [{ action: 'Correct the command, or the image.' }, logs],
    };
  if (ended.exitCode === 0)
    return {
      reason: 'EndsAtOnce',
      summary: 'ends with success although it should keep running',
      remedies: [{ action: 'Give it a program that keeps running, or run it as a Job.' }, logs],
    };
  if (ended.exitCode === 137 || ended.exitCode === 143)
    return {
      reason: 'Killed',
      summary: `was ended by ${ended.exitCode === 137 ? 'SIGKILL' : 'SIGTERM'}`,
      remedies: [logs],
    };
  return { reason: 'Crashes', summary: `ends with exit code ${ended.exitCode}`, remedies: [logs] };
}
