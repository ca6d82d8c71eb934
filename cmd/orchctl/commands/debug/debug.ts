/** `debug`: a container in a running pod, a copy of a pod, or a pod on a node, to look for faults. */
import type { Node, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { copyOf, debugContainer, nodePod } from '#cmd/orchctl/commands/debug/pods.js';
import { podWhen } from '#cmd/orchctl/commands/pods.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import { uniqueSuffix } from '#cmd/orchctl/terminal/random.js';

/** How long to wait until the container runs. */
const startMs = 120_000;

export const debug: Command = {
  name: 'debug',
  usage: '(POD | TYPE/NAME | node/NAME) --image IMAGE [-it] [--target CONTAINER] [--copy-to NAME] [-- COMMAND [ARG…]]',
  summary: 'Look for faults with a container in a pod, a copy of a pod, or a pod on a node',
  examples: [
    'orchctl debug web-0 -it --image=busybox --target=main',
    'orchctl debug web-0 -it --copy-to=web-debug --container=main -- sh',
    'orchctl debug node/worker-a -it --image=busybox',
  ],
  completes: 'pods',
  options: {
    image: { type: 'string', section: 'Content', meaning: 'Image of the container.' },
    container: { type: 'string', shorthand: 'c', section: 'Content', meaning: 'Name of the container.' },
    'image-pull-policy': { type: 'string', section: 'Content', meaning: 'Always, IfNotPresent or Never.' },
    env: { type: 'map', section: 'Content', meaning: 'NAME=VALUE of the container.' },
    target: { type: 'string', section: 'Content', meaning: 'Container whose processes are shown.' },
    'copy-to': { type: 'string', section: 'Copy', meaning: 'Create a copy of the pod under this name.' },
    replace: { type: 'bool', section: 'Copy', meaning: 'With --copy-to: delete the pod.' },
    'same-node': { type: 'bool', section: 'Copy', meaning: 'With --copy-to: on the same node.' },
    'set-image': { type: 'map', section: 'Copy', meaning: 'With --copy-to: CONTAINER=IMAGE; *: all containers.' },
    'share-processes': {
      type: 'bool',
      default: true,
      section: 'Copy',
      meaning: 'With --copy-to: containers see the processes of each other.',
    },
    'arguments-only': {
      type: 'bool',
      section: 'Content',
      meaning: 'Arguments are those of the image, not its command.',
    },
    attach: { type: 'bool', section: 'Streams', meaning: 'Wait until the container runs, and attach to it.' },
    stdin: { type: 'bool', shorthand: 'i', section: 'Streams', meaning: 'Send standard input to the container.' },
    tty: { type: 'bool', shorthand: 't', section: 'Streams', meaning: 'Give the container a terminal.' },
    quiet: { type: 'bool', shorthand: 'q', section: 'Streams', meaning: 'Print no words of its own.' },
  },
  async run(invocation) {
    const { args } = invocation;
    check(invocation);
    const named = args.map((arg) => (arg.includes('/') ? arg : `pods/${arg}`));
    const { infos, errors } = await select(invocation, { args: named });
    if (errors.length > 0) throw errors[0];
    for (const { object, resource } of infos) {
      if (resource.kind === 'Node') return onNode(invocation, object as Node);
      if (resource.kind !== 'Pod') throw new CommandError(`${JSON.stringify(resource.kind)} not supported by debug`);
      const pod = object as Pod;
      const isCopy = (invocation.values.string('copy-to') ?? '') !== '';
      return isCopy ? asCopy(invocation, pod) : inPod(invocation, pod);
    }
    return 0;
  },
};

function check({ args, values }: Invocation): void {
  if (args.length === 0) throw new CommandError('NAME or TYPE/NAME is required for debug');
  const isCopy = (values.string('copy-to') ?? '') !== '';
  for (const name of ['replace', 'same-node'] as const) {
    if (values.bool(name) && !isCopy) throw new CommandError(`--${name} may only be used with --copy-to.`);
  }
  if (values.isSet('set-image') && !isCopy) throw new CommandError('--set-image may only be used with --copy-to.');
  if (values.isSet('target') && isCopy) {
    throw new CommandError('--target is incompatible with --copy-to. Use --share-processes instead.');
  }
  const hasOther = isCopy && (values.isSet('set-image') || values.isSet('container'));
  if ((values.string('image') ?? '') === '' && !hasOther)
    throw new CommandError('you must specify --image when not using --copy-to.');
  if (values.bool('tty') && !values.bool('stdin')) {
    throw new UsageError('-i/--stdin is required for containers with -t/--tty=true');
  }
}

function attaches({ values }: Invocation): boolean {
  return values.isSet('attach') ? values.bool('attach') : values.bool('stdin');
}

function containerName({ out, values }: Invocation): string {
  const given = values.string('container') ?? '';
  if (given !== '') return given;
  const name = `debugger-${uniqueSuffix()}`;
  if (!values.bool('quiet')) out.write(`Defaulting debug container name to ${name}.\n`);
  return name;
}

/** A container that joins the running pod. */
async function inPod(invocation: Invocation, pod: Pod): Promise<number> {
  const { api, err, trailing, values } = invocation;
  const target = values.string('target') ?? '';
  if (target !== '' && !values.bool('quiet')) {
    err.write(
      `Targeting container ${JSON.stringify(target)}. If you don't see processes from this container it may be because the container runtime doesn't support this feature.\n`,
    );
  }
  const name = containerName(invocation);
  const container = {
    ...debugContainer(invocation, name, trailing),
    ...(target === '' ? {} : { targetContainerName: target }),
  };
  const { name: podName = '', namespace } = pod.metadata;
  const path = objectPath((await api.catalog()).one('pods'), podName, { namespace }, 'ephemeralcontainers');
  await api.json(
    'PATCH',
    path,
    { spec: { ephemeralContainers: [container] } },
    {
      'content-type': 'application/strategic-merge-patch+json',
    },
  );
  return attaches(invocation) ? attachTo(invocation, podName, name, namespace) : 0;
}

async function asCopy(invocation: Invocation, pod: Pod): Promise<number> {
  const { api, trailing, values } = invocation;
  const { namespace } = pod.metadata;
  const hasOwn = pod.spec.containers.some(({ name }) => name === values.string('container'));
  const name = hasOwn ? (values.string('container') ?? '') : containerName(invocation);
  const copy = copyOf(pod, invocation, { name, trailing });
  const pods = (await api.catalog()).one('pods');
  const created = await api.json<ApiObject>('POST', collectionPath(pods, { namespace }), copy);
  if (values.bool('replace')) {
    await api.json('DELETE', objectPath(pods, pod.metadata.name ?? '', { namespace }), {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Background',
    });
  }
  return attaches(invocation) ? attachTo(invocation, created.metadata.name ?? '', name, namespace) : 0;
}

async function onNode(invocation: Invocation, node: Node): Promise<number> {
  const { api, namespace, out, trailing, values } = invocation;
  const nodeName = node.metadata.name ?? '';
  const name = (values.string('container') ?? '') || 'debugger';
  const podName = `node-debugger-${nodeName}-${uniqueSuffix()}`;
  const pod = nodePod(debugContainer(invocation, name, trailing), { name: podName, nodeName });
  await api.json('POST', collectionPath((await api.catalog()).one('pods'), { namespace }), pod);
  if (!values.bool('quiet'))
    out.write(`Creating debugging pod ${podName} with container ${name} on node ${nodeName}.\n`);
  return attaches(invocation) ? attachTo(invocation, podName, name, namespace) : 0;
}

async function attachTo(
  invocation: Invocation,
  podName: string,
  container: string,
  namespace: string | undefined,
): Promise<number> {
  const here = Object.create(invocation, {
    namespace: { value: namespace ?? invocation.namespace },
    args: { value: [podName] },
    trailing: { value: [] },
    values: {
      value: {
        ...invocation.values,
        string: (name: string) => (name === 'container' ? container : invocation.values.string(name)),
      },
    },
  }) as Invocation;
  await podWhen(here, podName, (pod) => isStarted(pod, container), startMs);
  const { attach } = await import('#cmd/orchctl/commands/exec.js');
  if (!invocation.values.bool('quiet') && invocation.values.bool('stdin')) {
    invocation.err.write("If you don't see a command prompt, try pressing enter.\n");
  }
  return (await attach.run(here)) ?? 0;
}

function isStarted({ status }: Pod, container: string): boolean {
  const all = [...(status?.containerStatuses ?? []), ...(status?.ephemeralContainerStatuses ?? [])];
  const state = all.find(({ name }) => name === container)?.state;
  return state?.running !== undefined || state?.terminated !== undefined;
}
